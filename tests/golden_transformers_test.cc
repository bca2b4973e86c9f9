// Attention, a small ViT and a small GPT-2 compared with PyTorch's numbers: results, every gradient, steps.
#include <gtest/gtest.h>

#include "golden/network.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace {

Values scaled(std::uint64_t tensor, const Shape& shape, double by) {
  Values values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = by * golden_value(tensor, i);
  return values;
}

// Every kernel of this machine, on a GPU also in 16-bit and tf32.
struct Precision {
  DType dtype;
  bool tf32;
  double transformer_tolerance;
};

std::vector<Precision> precisions(const Kernel& kernel) {
  std::vector<Precision> list = {{DType::f64, false, 1e-10}, {DType::f32, false, 1e-5}};
  if (kernel.device == DeviceKind::cpu) return list;
  list.push_back({DType::f32, true, 1e-2});
  list.push_back({DType::f16, false, 2e-2});
  list.push_back({DType::bf16, false, 1e-1});
  return list;
}

void expect_attention(const Kernel& kernel, const Kernel& gradient, const Json& want, const Precision& how) {
  Problem p{.op = "attention", .inputs = {}, .outputs = {}, .attrs = {}};
  p.attrs.set("heads", want["heads"].get<std::int64_t>());
  p.attrs.set("causal", std::int64_t{want["causal"].get<bool>()});
  if (want.contains("scale")) p.attrs.set("scale", want["scale"].get<double>());
  p.inputs = {{Shape(want["qkv"].get<std::vector<std::int64_t>>()), how.dtype}};
  p.outputs = schema_of("attention").infer(p.inputs, p.attrs);
  Problem g{.op = "attention_grad",
            .inputs = {p.outputs[0], p.inputs[0], p.outputs[0], p.outputs[1]},
            .outputs = p.inputs,
            .attrs = p.attrs};
  Target target = kernel.device == DeviceKind::cuda ? test_gpu()->capabilities() : cpu_capabilities();
  target.policy.tf32 = how.tf32;
  if (!kernel.accepts(p, target).ok || !gradient.accepts(g, target).ok) return;
  SCOPED_TRACE(fmt::format("{} by {}{}", p.str(), kernel.name, how.tf32 ? " in tf32" : ""));
  const Values qkv = scaled(1, p.inputs[0].shape, 2), dy = scaled(2, p.outputs[0].shape, 1);
  const Run forward = run_kernel(kernel, p, {qkv}, Policy{.tf32 = how.tf32});
  EXPECT_EQ(compare_digest(want["y"], forward.outputs[0], how.transformer_tolerance), "");
  const Run backward =
      run_kernel(gradient, g, {dy, qkv, forward.outputs[0], forward.outputs[1]}, Policy{.tf32 = how.tf32});
  EXPECT_EQ(compare_digest(want["dqkv"], backward.outputs[0], how.transformer_tolerance), "");
}

TEST(GoldenTransformers, AttentionOfEveryKernel) {
  const Json golden = golden_json("transformers");
  const auto kernels = kernels_here(operator_of("attention")),
             gradients = kernels_here(operator_of("attention_grad"));
  ASSERT_EQ(kernels.size(), gradients.size());
  for (std::size_t k = 0; k < kernels.size(); ++k)
    for (const auto& [number, want] : golden["attention"].items())
      for (const Precision& how : precisions(kernels[k]))
        expect_attention(kernels[k], gradients[k], want, how);
}

class GoldenTransformer : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTransformer, LogitsLossGradientsSteps) {
  const Json golden = golden_json("transformers");
  for (DType dtype : {DType::f64, DType::f32}) {
    SCOPED_TRACE(name_of(dtype));
    expect_golden_network(golden["networks"][GetParam()], dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTransformer, ::testing::Values("gpt2", "vit", "vit_mean"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace headroom::testing
