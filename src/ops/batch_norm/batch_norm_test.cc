#include "ops/batch_norm/batch_norm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "base/random.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace batch_norm_test {

Problem make(std::string_view op, std::vector<TensorType> inputs, Attrs attrs = {}) {
  Problem p{.op = std::string(op), .inputs = std::move(inputs), .outputs = {}, .attrs = std::move(attrs)};
  p.outputs = schema_of(op).infer(p.inputs, p.attrs);
  return p;
}

Problem forward(const Shape& x, DType dtype = DType::f64, Attrs attrs = {}) {
  const TensorType c{{x[1]}, dtype};
  return make("batch_norm", {{x, dtype}, c, c, c, c}, std::move(attrs));
}

TEST(BatchNorm, NormalisesAndKeepsRunningStatistics) {
  // Channel 0 holds 1, 3, 5, 7: mean 4, variance 5 over n, 20/3 over n - 1.
  const Problem p = forward({2, 2, 2}, DType::f64, {{"epsilon", 4.0}, {"momentum", 0.25}});
  for (const Kernel& kernel : kernels_for(p)) {
    const auto out =
        run_kernel(kernel, p, {{1, 3, 2, 2, 5, 7, 2, 2}, {3, 1}, {10, 20}, {8, 2}, {4, 4}}).outputs;
    const Values want = {7, 9, 20, 20, 11, 13, 20, 20};  // (x - 4) / 3 * 3 + 10
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(out[0][i], want[i], 1e-14) << kernel.name;
    EXPECT_NEAR(out[1][0], 7, 1e-14);
    EXPECT_NEAR(out[2][0], 3 + 5.0 / 3, 1e-14);
    EXPECT_NEAR(out[1][1], 2, 1e-14);
    EXPECT_NEAR(out[2][1], 3, 1e-14);
    EXPECT_NEAR(out[3][0], 4, 1e-14);
    EXPECT_NEAR(out[4][0], 1 / 3.0, 1e-15);
  }
}

TEST(BatchNorm, RunningStatisticsAreUpdatedInPlace) {
  EXPECT_EQ(schema_of("batch_norm").aliases(forward({2, 3})), (std::vector<int>{-1, 3, 4, -1, -1}));
}

// In fp32 the numbers have steps of 6e-5 there; nothing may be lost on top of that, in y nor in the gradient.
TEST(BatchNorm, HoldsToRoundingFarFromZero) {
  for (const Shape& shape : std::vector<Shape>{{4, 3, 40, 40}, {500, 30}, {8, 20, 5, 5}}) {
    const Problem p = forward(shape, DType::f32);
    const Case c{.tier = Tier::ci, .inputs = {}};
    auto inputs = inputs_of(p, c, Numbers::normal, 5);
    for (double& x : inputs[0]) x = double{static_cast<float>(1000 + x)};
    for (double& v : inputs[4]) v = std::abs(v);
    const Operator& op = operator_of("batch_norm");
    const auto want = run_kernel(reference_of(op), widened(p), inputs).outputs;
    const auto got = run_kernel(cpu_kernel(op), p, inputs).outputs;
    for (std::size_t o = 0; o < 3; ++o)
      EXPECT_LE(compare(p, o, got[o], want[o], false).worst_ratio, 1) << shape.str() << " output " << o;
    for (std::size_t i = 0; i < want[4].size(); ++i) EXPECT_NEAR(got[4][i], want[4][i], 1e-8);

    const TensorType x{shape, DType::f32}, one{{shape[1]}, DType::f32}, saved{{shape[1]}, DType::f64};
    const Problem back = make("batch_norm_grad", {x, x, one, saved, saved});
    const auto dy = inputs_of(back, c, Numbers::normal, 6)[0];
    const std::vector<Values> given = {dy, inputs[0], inputs[1], want[3], want[4]};
    const Operator& grad = operator_of("batch_norm_grad");
    const auto want_d = run_kernel(reference_of(grad), widened(back), given).outputs;
    const auto got_d = run_kernel(cpu_kernel(grad), back, given).outputs;
    for (std::size_t o = 0; o < 3; ++o)
      EXPECT_LE(compare(back, o, got_d[o], want_d[o], false).worst_ratio, 1)
          << shape.str() << " output " << o;
  }
}

TEST(BatchNorm, NanSpoilsItsChannelOnly) {
  for (const Shape& shape : std::vector<Shape>{{3, 2}, {2, 2, 100}}) {
    const Problem p = forward(shape);
    Values x(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = Philox(1).normal(i);
    x[0] = std::nan("");
    for (const Kernel& kernel : kernels_for(p)) {
      const auto out = run_kernel(kernel, p, {x, {1, 1}, {0, 0}, {0, 0}, {1, 1}}).outputs;
      for (std::size_t o = 1; o < 5; ++o) {
        EXPECT_TRUE(std::isnan(out[o][0])) << kernel.name << o;
        EXPECT_FALSE(std::isnan(out[o][1])) << kernel.name << o;
      }
      EXPECT_TRUE(std::isnan(out[0][0]));
      EXPECT_FALSE(std::isnan(out[0][static_cast<std::size_t>(shape.numel() / shape[0] - 1)]));
    }
  }
}

TEST(BatchNorm, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const char* name : {"batch_norm", "batch_norm_grad", "batch_norm_inference_grad"})
    for (const Shape& x : std::vector<Shape>{{3000, 65}, {16, 6, 24, 24}, {64, 40, 7, 7}, {2, 3, 9000}}) {
      const Operator& op = operator_of(name);
      Case c = op.cases[0];
      for (Shape& shape : c.inputs) shape = shape.rank() == 1 ? Shape{x[1]} : x;
      const Problem p = problem_of(op, c, DType::f32);
      const auto inputs = inputs_of(p, c, Numbers::normal, 3);
      omp_set_num_threads(1);
      const auto alone = run_kernel(cpu_kernel(op), p, inputs).outputs;
      for (int threads : {2, 3, 7}) {
        omp_set_num_threads(threads);
        EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs, alone) << name << " " << x.str();
      }
    }
  omp_set_num_threads(before);
}

// The gradient by the statistics' own way sums to zero over a channel: a shift of x changes nothing.
TEST(BatchNorm, GradientIgnoresAShiftOfTheChannel) {
  const Problem p = forward({6, 3, 9, 9});
  const Case c{.tier = Tier::ci, .inputs = {}};
  auto inputs = inputs_of(p, c, Numbers::normal, 5);
  const auto out = run_kernel(cpu_kernel(operator_of("batch_norm")), p, inputs).outputs;
  const TensorType x = p.inputs[0], one = p.inputs[1];
  const Problem back = make("batch_norm_grad", {x, x, one, one, one});
  const auto dy = inputs_of(back, c, Numbers::normal, 7)[0];
  const auto d =
      run_kernel(cpu_kernel(operator_of("batch_norm_grad")), back, {dy, inputs[0], inputs[1], out[3], out[4]})
          .outputs[0];
  double sum = 0;
  for (std::size_t i = 0; i < d.size(); ++i)
    if (i / 81 % 3 == 1) sum += d[i];
  EXPECT_NEAR(sum, 0, 1e-12);
}

TEST(BatchNorm, RejectsBadRequests) {
  const TensorType x{{4, 3, 2}, DType::f32}, c{{3}, DType::f32}, wide{{3}, DType::f64};
  EXPECT_THROW(make("batch_norm", {x, c, c, c}), Error);
  EXPECT_THROW(make("batch_norm", {{{4}, DType::f32}, c, c, c, c}), Error);
  EXPECT_THROW(make("batch_norm", {x, c, c, c, {{2}, DType::f32}}), Error);
  EXPECT_THROW(make("batch_norm", {x, c, c, c, wide}), Error);
  EXPECT_THROW(make("batch_norm", {x, c, c, c, c}, {{"momentum", 1.5}}), Error);
  EXPECT_THROW(make("batch_norm", {x, c, c, c, c}, {{"epsilon", -1.0}}), Error);
  EXPECT_THROW(forward({1, 3}), Error) << "one value has no variance";
  EXPECT_NO_THROW(make("batch_norm_inference", {{{1, 3}, DType::f32}, c, c, c, c}));
  EXPECT_THROW(make("batch_norm_grad", {x, x, c, c, c}), Error) << "saved statistics are fp64";
  EXPECT_THROW(make("batch_norm_inference", {{{4, 3}, DType::i32}, c, c, c, c}), Error);
}

}  // namespace batch_norm_test
}  // namespace headroom::testing
