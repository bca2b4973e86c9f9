// Attention, a small ViT and a small GPT-2 compared with PyTorch's numbers: results, every gradient, steps.
#include <gtest/gtest.h>

#include "base/json.h"
#include "golden/golden.h"
#include "ops/testing/harness.h"
#include "train/engine.h"

namespace headroom::testing {
namespace {

double transformer_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-10 : 1e-5; }
constexpr std::uint64_t kFirstLabel = 1000;

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
  const Run forward = run_kernel(kernel, p, {qkv}, how.tf32);
  EXPECT_EQ(compare_digest(want["y"], forward.outputs[0], how.transformer_tolerance), "");
  const Run backward = run_kernel(gradient, g, {dy, qkv, forward.outputs[0], forward.outputs[1]}, how.tf32);
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

// Numbers in an engine's type.
std::vector<std::byte> stored(DType dtype, const Values& values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  dispatch_float(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i)
      reinterpret_cast<T*>(bytes.data())[i] = static_cast<T>(values[i]);
  });
  return bytes;
}

Values parameter(const Engine& engine, const std::string& name) {
  const TensorType& type = engine.storage().type(name);
  return dispatch_float(type.dtype, [&]<class T>() {
    std::vector<T> host(static_cast<std::size_t>(type.shape.numel()));
    engine.storage().read(name, host.data(), host.size() * sizeof(T));
    return Values(host.begin(), host.end());
  });
}

void expect_network(const Json& want, DType dtype) {
  const auto device = open_device("cpu");
  EngineOptions options;
  options.precision = dtype;
  options.keep_gradients = true;
  Engine engine(find_net(want["model"]), *device, options);
  const std::int64_t batch = want["batch"];
  Engine::Ready& ready = engine.ready(Mode::train, batch);
  std::uint64_t tensor = 0;
  for (const auto& [name, shape] : want["shapes"].items()) {
    const Shape expected(shape.get<std::vector<std::int64_t>>());
    ASSERT_EQ(engine.storage().type(name).shape, expected) << name;
    const auto bytes = stored(dtype, golden_fill(++tensor, expected));
    engine.storage().write(name, bytes.data(), bytes.size());
  }
  EXPECT_EQ(engine.storage().names(Role::parameter).size(), want["shapes"].size());

  const TensorType& input = ready.program.graph.value(ready.program.images).type;
  const int classes = want["classes"];
  std::vector<std::int32_t> tokens, labels;
  for (std::int64_t i = 0; i < input.shape.numel(); ++i)
    tokens.push_back(golden_label(std::uint64_t(i), classes));
  for (std::int64_t i = 0; i < batch * ready.program.labels_each; ++i)
    labels.push_back(golden_label(kFirstLabel + std::uint64_t(i), classes));
  const auto images =
      input.dtype == DType::i32 ? std::vector<std::byte>{} : stored(dtype, golden_fill(0, input.shape));
  const void* items = images.empty() ? static_cast<const void*>(tokens.data()) : images.data();

  Engine::Ready& eval = engine.ready(Mode::eval, batch);
  engine.run_batch(eval, items, labels.data());
  EXPECT_EQ(
      compare_digest(want["logits"], eval.executor->read(eval.program.logits), transformer_tolerance(dtype)),
      "");
  engine.set_learning_rate(want["rate"]);
  std::int64_t step = 0;
  for (const Json& loss : want["losses"]) {
    const double got = engine.train_step(ready, items, labels.data(), ++step);
    EXPECT_NEAR(got, loss.get<double>(), transformer_tolerance(dtype)) << "step " << step;
    if (step > 1) continue;
    for (const auto& [name, digest] : want["gradients"].items())
      EXPECT_EQ(compare_digest(digest, ready.executor->read(gradient_of(ready.program, name)),
                               transformer_tolerance(dtype)),
                "")
          << name;
  }
  for (const auto& [name, digest] : want["parameters"].items())
    EXPECT_EQ(compare_digest(digest, parameter(engine, name), transformer_tolerance(dtype)), "") << name;
}

class GoldenTransformer : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTransformer, LogitsLossGradientsSteps) {
  const Json golden = golden_json("transformers");
  for (DType dtype : {DType::f64, DType::f32}) {
    SCOPED_TRACE(name_of(dtype));
    expect_network(golden["networks"][GetParam()], dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTransformer, ::testing::Values("gpt2", "vit", "vit_mean"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace headroom::testing
