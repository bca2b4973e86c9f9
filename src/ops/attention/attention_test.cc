// What the common tests cannot know: rejected shapes, invariances, tighter errors than a general bound.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <omp.h>
#include <cmath>

#include "base/random.h"
#include "base/testing/bad_input.h"
#include "ops/attention/cuda/sizes.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace attention_test {

Problem forward_problem(const Shape& qkv, Attrs attrs, DType dtype = DType::f64) {
  Problem p{.op = "attention", .inputs = {{qkv, dtype}}, .outputs = {}, .attrs = std::move(attrs)};
  p.outputs = schema_of(p.op).infer(p.inputs, p.attrs);
  return p;
}

Values normals(const Shape& shape, double size = 1) {
  Values values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = double(float(size * Philox(11).normal(i)));
  return values;
}

const std::int64_t kYes = 1;

TEST(Attention, RejectsWhatIsNoQueriesKeysAndValues) {
  auto infer = [](const std::string& op, const std::vector<TensorType>& in, const Attrs& attrs) {
    return [=] { schema_of(op).infer(in, attrs); };
  };
  const Attrs three{{"heads", std::int64_t{3}}};
  expect_rejected(infer("attention", {{{2, 5, 20}}}, three), {"20 columns", "3 heads"});
  expect_rejected(infer("attention", {{{2, 18}}}, three), {"batch, time"});
  expect_rejected(infer("attention", {{{2, 5, 18}, DType::i32}}, three), {"int32"});
  expect_rejected(infer("attention", {{{2, 5, 18}}}, {{"heads", std::int64_t{0}}}), {"0 heads"});
  expect_rejected(infer("attention", {{{2, 0, 18}}}, three), {"has no elements"});
  expect_rejected(infer("attention_grad", {{{2, 5, 6}}, {{2, 5, 18}}, {{2, 5, 6}}, {{2, 5, 3}}}, three),
                  {"attention_grad", "2x3x5"});
}

// The first causal row sees itself alone; with one key there is nothing to weigh.
TEST(Attention, TheFirstCausalRowIsItsValue) {
  const Problem p = forward_problem({2, 4, 3 * 2 * 3}, {{"heads", std::int64_t{2}}, {"causal", kYes}});
  const Values qkv = normals(p.inputs[0].shape);
  for (const Kernel& kernel : kernels_for(p)) {
    const auto run = run_kernel(kernel, p, {qkv});
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t d = 0; d < 6; ++d)
        EXPECT_NEAR(run.outputs[0][b * 24 + d], qkv[b * 72 + 12 + d], 1e-15) << kernel.name;
  }
}

// Scores in the thousands, where e^s is infinite in either precision.
TEST(Attention, LargeScoresDoNotOverflow) {
  for (DType dtype : {DType::f64, DType::f32}) {
    const Problem p = forward_problem({1, 300, 3 * 16}, {{"heads", kYes}, {"causal", kYes}}, dtype);
    const Values qkv = normals(p.inputs[0].shape, 60);
    const auto want = run_kernel(reference_of(operator_of("attention")), p, {qkv});
    for (const Kernel& kernel : kernels_for(p)) {
      const auto got = run_kernel(kernel, p, {qkv});
      for (std::size_t i = 0; i < want.outputs[1].size(); ++i)
        ASSERT_NEAR(got.outputs[1][i], want.outputs[1][i], 1e-5 * std::abs(want.outputs[1][i]))
            << kernel.name;
      for (double y : got.outputs[0]) ASSERT_TRUE(std::isfinite(y)) << kernel.name;
    }
  }
}

// The rms of the error against that of the result: no general bound is as tight.
TEST(Attention, ErrorsAreAFewRoundings) {
  for (bool causal : {false, true})
    for (const auto& [time, width] : {std::pair{197, 64}, {300, 40}, {513, 8}}) {
      const Problem p =
          forward_problem({1, time, 3 * 2 * width},
                          {{"heads", std::int64_t{2}}, {"causal", std::int64_t{causal}}}, DType::f32);
      const Values qkv = normals(p.inputs[0].shape);
      const Operator& op = operator_of("attention");
      const auto want = run_kernel(reference_of(op), widened(p), {qkv});
      Problem g{.op = "attention_grad",
                .inputs = {p.outputs[0], p.inputs[0], p.outputs[0], p.outputs[1]},
                .outputs = p.inputs,
                .attrs = p.attrs};
      const Values dy = normals(p.outputs[0].shape);
      auto rms_error = [](const Values& a, const Values& b) {
        double error = 0, size = 0;
        for (std::size_t i = 0; i < a.size(); ++i)
          error += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
        return std::sqrt(error / size);
      };
      const std::vector<Values> inputs = {dy, qkv, want.outputs[0], want.outputs[1]};
      const auto want_grad = run_kernel(reference_of(operator_of("attention_grad")), widened(g), inputs);
      for (const Kernel& kernel : kernels_for(p))
        EXPECT_LT(rms_error(run_kernel(kernel, p, {qkv}).outputs[0], want.outputs[0]), 1e-6) << kernel.name;
      for (const Kernel& kernel : kernels_for(g))
        EXPECT_LT(rms_error(run_kernel(kernel, g, inputs).outputs[0], want_grad.outputs[0]), 2e-6)
            << kernel.name;
    }
}

TEST(Attention, BitsDoNotDependOnThreads) {
  const Problem p =
      forward_problem({2, 200, 3 * 3 * 24}, {{"heads", std::int64_t{3}}, {"causal", kYes}}, DType::f32);
  const Values qkv = normals(p.inputs[0].shape);
  const Kernel& kernel = cpu_kernel(operator_of("attention"));
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = run_kernel(kernel, p, {qkv});
  omp_set_num_threads(3);
  const auto three = run_kernel(kernel, p, {qkv});
  omp_set_num_threads(before);
  EXPECT_EQ(one.outputs, three.outputs);
}

// A causal row costs what it sees; the rest of the arithmetic is in tests/transformer_costs_test.cc.
TEST(Attention, CostsCountPairs) {
  const Cost all =
      schema_of("attention").cost(forward_problem({2, 10, 3 * 4 * 5}, {{"heads", std::int64_t{4}}}));
  EXPECT_EQ(all.multiply_add, 4.0 * 2 * 4 * 10 * 10 * 5);
  const Cost half =
      schema_of("attention")
          .cost(forward_problem({2, 10, 3 * 4 * 5}, {{"heads", std::int64_t{4}}, {"causal", kYes}}));
  EXPECT_EQ(half.multiply_add, 4.0 * 2 * 4 * 55 * 5);
  EXPECT_EQ(half.special, 2.0 * 4 * 55 + 2 * 4 * 10);
}

// On every card some kernel takes heads of up to 1024, and says why where it does not.
TEST(Attention, GpuKernelsCoverEveryWidth) {
  for (int capability : {75, 80, 86, 89, 90})
    for (DType dtype : {DType::f64, DType::f32, DType::f16})
      for (std::int64_t width : {1, 31, 64, 128, 129, 256, 257, 1024}) {
        const Problem p = forward_problem({1, 3, 3 * width}, {{"heads", kYes}}, dtype);
        const Target card({.kind = DeviceKind::cuda, .name = "a card", .compute_capability = capability},
                          {.tf32 = true});
        bool taken = false;
        for (const Kernel& kernel : operator_of("attention").kernels) {
          if (kernel.device != DeviceKind::cuda) continue;
          const Verdict verdict = kernel.accepts(p, card);
          taken |= verdict.ok;
          EXPECT_EQ(verdict.ok, verdict.reason.empty()) << kernel.name;
        }
        EXPECT_TRUE(taken) << width << " on " << capability;
      }
}

}  // namespace attention_test
}  // namespace headroom::testing
