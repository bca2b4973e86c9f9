#include "ops/layer_norm/layer_norm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace layer_norm_test {

Problem make(std::vector<TensorType> inputs, Attrs attrs = {}) {
  Problem p{.op = "layer_norm", .inputs = std::move(inputs), .outputs = {}, .attrs = std::move(attrs)};
  p.outputs = schema_of(p.op).infer(p.inputs, p.attrs);
  return p;
}

TEST(LayerNorm, NormalisesEachRow) {
  const TensorType row{{4}, DType::f64};
  const Problem p = make({{{2, 4}, DType::f64}, row, row}, {{"epsilon", 4.0}});
  for (const Kernel& kernel : kernels_here(operator_of("layer_norm"))) {
    const auto out = run_kernel(kernel, p, {{1, 3, 5, 7, 2, 2, 2, 2}, {3, 3, 3, 6}, {0, 0, 1, 1}}).outputs;
    const Values want = {-3, -1, 2, 7, 0, 0, 1, 1};
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(out[0][i], want[i], 1e-14) << kernel.name;
    EXPECT_EQ(out[1], (Values{4, 2}));
    EXPECT_NEAR(out[2][0], 1 / 3.0, 1e-15);
    EXPECT_EQ(out[2][1], 0.5);
  }
}

TEST(LayerNorm, SavedStatisticsKeepTheRank) {
  const TensorType x{{2, 3, 4, 5}, DType::f32};
  EXPECT_EQ(make({x, {{4, 5}, DType::f32}, {{4, 5}, DType::f32}}, {{"axis", std::int64_t{2}}}).outputs[1],
            (TensorType{{2, 3, 1, 1}, DType::f64}));
  EXPECT_EQ(make({x, {{5}, DType::f32}, {{5}, DType::f32}}).outputs[2].shape, (Shape{2, 3, 4, 1}));
}

TEST(LayerNorm, HoldsToRoundingFarFromZero) {
  const TensorType row{{300}, DType::f32};
  const Problem p = make({{{20, 300}, DType::f32}, row, row});
  auto inputs = inputs_of(p, {.tier = Tier::ci, .inputs = {}}, Numbers::normal, 5);
  for (double& x : inputs[0]) x = double{static_cast<float>(1000 + x)};
  const Operator& op = operator_of("layer_norm");
  const auto want = run_kernel(reference_of(op), widened(p), inputs).outputs;
  const auto got = run_kernel(cpu_kernel(op), p, inputs).outputs;
  EXPECT_LE(compare(p, 0, got[0], want[0], false).worst_ratio, 1);
}

TEST(LayerNorm, NanSpoilsItsRowOnly) {
  const TensorType row{{2}, DType::f64};
  const Problem p = make({{{2, 2}, DType::f64}, row, row});
  for (const Kernel& kernel : kernels_here(operator_of("layer_norm"))) {
    const auto y = run_kernel(kernel, p, {{std::nan(""), 1, 1, 3}, {1, 1}, {0, 0}}).outputs[0];
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << kernel.name;
    EXPECT_NEAR(y[3], 1, 1e-5) << kernel.name;
  }
}

TEST(LayerNorm, GradientHasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("layer_norm_grad");
  Case c = op.cases[0];
  c.inputs = {{1000, 70}, {1000, 70}, {70}, {1000, 1}, {1000, 1}};
  const Problem p = problem_of(op, c, DType::f32);
  const auto inputs = inputs_of(p, c, Numbers::normal, 3);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = run_kernel(cpu_kernel(op), p, inputs).outputs;
  for (int threads : {2, 3, 7}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs, alone);
  }
  omp_set_num_threads(before);
}

TEST(LayerNorm, RejectsBadRequests) {
  const TensorType x{{4, 3}, DType::f32}, row{{3}, DType::f32};
  EXPECT_THROW(make({x, row}), Error);
  EXPECT_THROW(make({x, row, {{4}, DType::f32}}), Error);
  EXPECT_THROW(make({x, row, {{3}, DType::f64}}), Error);
  EXPECT_THROW(make({x, row, row}, {{"axis", std::int64_t{2}}}), Error);
  EXPECT_THROW(make({x, row, row}, {{"axis", std::int64_t{0}}}), Error);
  EXPECT_THROW(make({x, row, row}, {{"epsilon", std::nan("")}}), Error);
  EXPECT_THROW(make({{Shape{}, DType::f32}, row, row}), Error);
}

}  // namespace layer_norm_test
}  // namespace headroom::testing
