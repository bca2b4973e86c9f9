#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace reduce_test {

using Axes = std::vector<std::int64_t>;

std::vector<Values> run_all(std::string_view op, const std::vector<Shape>& shapes,
                            const std::vector<Values>& inputs, const Attrs& attrs) {
  const Case c{.tier = Tier::ci, .inputs = shapes, .attrs = attrs};
  const Problem problem = problem_of(operator_of(op), c, DType::f32);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, problem, inputs).outputs[0]);
  return results;
}

Shape shape_of(const Shape& from, const Attrs& attrs) {
  return operator_of("reduce_sum").schema.infer({{from, DType::f32}}, attrs)[0].shape;
}

TEST(Reduce, KnownValues) {
  const Values x = {1, 2, 3, 4, 5, 9};
  for (const Values& y : run_all("reduce_sum", {{2, 3}}, {x}, {})) EXPECT_EQ(y, (Values{24}));
  for (const Values& y : run_all("reduce_sum", {{2, 3}}, {x}, {{"axes", Axes{0}}}))
    EXPECT_EQ(y, (Values{5, 7, 12}));
  for (const Values& y : run_all("reduce_mean", {{2, 3}}, {x}, {{"axes", Axes{-1}}}))
    EXPECT_EQ(y, (Values{2, 6}));
  for (const Values& y : run_all("reduce_max", {{2, 3}}, {x}, {{"axes", Axes{1}}}))
    EXPECT_EQ(y, (Values{3, 9}));
}

TEST(Reduce, ShapesWithAndWithoutWhatWasReduced) {
  EXPECT_EQ(shape_of({2, 3, 4}, {}), (Shape{1, 1, 1}));
  EXPECT_EQ(shape_of({2, 3, 4}, {{"keepdims", std::int64_t{0}}}), Shape{});
  EXPECT_EQ(shape_of({2, 3, 4}, {{"axes", Axes{1}}}), (Shape{2, 1, 4}));
  EXPECT_EQ(shape_of({2, 3, 4}, {{"axes", Axes{-1, 0}}, {"keepdims", std::int64_t{0}}}), Shape{3});
}

std::vector<Values> run_integers(std::string_view op, DType dtype, const Shape& shape, const Values& x,
                                 const Attrs& attrs) {
  const Case c{.tier = Tier::ci, .inputs = {shape}, .attrs = attrs, .dtypes = {dtype}};
  const Problem problem = problem_of(operator_of(op), c, DType::f32);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, problem, {x}).outputs[0]);
  return results;
}

TEST(Reduce, IntegersKeepTheirEndsAndWrapAround) {
  const double least = -2147483648.0, most = 2147483647.0;
  const Values x = {least, least, -1, most, 1, 5};
  for (const Values& y : run_integers("reduce_max", DType::i32, {2, 3}, x, {{"axes", Axes{1}}}))
    EXPECT_EQ(y, (Values{-1, most}));
  for (const Values& y : run_integers("reduce_max", DType::i32, {2, 3}, x, {{"axes", Axes{0}}}))
    EXPECT_EQ(y, (Values{most, 1, 5}));
  for (const Values& y : run_integers("reduce_max", DType::i32, {2}, {least, least}, {}))
    EXPECT_EQ(y, (Values{least}));
  for (const Values& y : run_integers("reduce_sum", DType::i32, {2, 3}, x, {{"axes", Axes{1}}}))
    EXPECT_EQ(y, (Values{-1, least + 5}));
  for (const Values& y : run_integers("reduce_sum", DType::i64, {2, 3}, x, {{"axes", Axes{1}}}))
    EXPECT_EQ(y, (Values{2 * least - 1, most + 6}));
}

TEST(Reduce, HasNoMeanOfIntegers) {
  EXPECT_THROW(operator_of("reduce_mean").schema.infer({{{3}, DType::i64}}, {}), Error);
  EXPECT_THROW(operator_of("reduce_sum").schema.infer({{{3}, DType::u8}}, {}), Error);
}

TEST(Reduce, NanIsAMaximumWhereverItStands) {
  for (std::size_t at = 0; at < 37; ++at) {
    Values x(2 * 37, -1);
    x[at] = std::nan("");
    for (const Values& y : run_all("reduce_max", {{2, 37}}, {x}, {{"axes", Axes{1}}})) {
      EXPECT_TRUE(std::isnan(y[0])) << at;
      EXPECT_EQ(y[1], -1);
    }
  }
}

TEST(Reduce, TiesShareTheGradient) {
  for (const Values& dx : run_all("reduce_max_grad", {{2, 1}, {2, 4}, {2, 1}},
                                  {{6, 5}, {1, 3, 3, 0, 2, 1, 0, 0}, {3, 2}}, {{"axes", Axes{1}}}))
    EXPECT_EQ(dx, (Values{0, 3, 3, 0, 5, 0, 0, 0}));
}

TEST(Reduce, HasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("reduce_sum");
  const int before = omp_get_max_threads();
  for (const Attrs& attrs : {Attrs{}, Attrs{{"axes", Axes{0}}}, Attrs{{"axes", Axes{1}}}}) {
    const Case c{.tier = Tier::ci, .inputs = {{700, 130}}, .attrs = attrs};
    const Problem p = problem_of(op, c, DType::f32);
    const auto inputs = inputs_of(p, c, Numbers::normal, 3);
    omp_set_num_threads(1);
    const Values alone = run_kernel(cpu_kernel(op), p, inputs).outputs[0];
    for (int threads : {2, 3, 7}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs[0], alone) << attrs.str();
    }
  }
  omp_set_num_threads(before);
}

TEST(Reduce, ExpandRepeats) {
  const Attrs attrs{{"shape", Axes{2, 1, 2}}, {"scale", 0.5}};
  for (const Values& y : run_all("expand", {{3, 1}}, {{2, 4, 6}}, attrs))
    EXPECT_EQ(y, (Values{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
}

TEST(Reduce, RejectsBadRequests) {
  EXPECT_THROW(shape_of({2, 3}, {{"axes", Axes{2}}}), Error);
  EXPECT_THROW(shape_of({2, 3}, {{"axes", Axes{1, -1}}}), Error);
  EXPECT_THROW(shape_of({2, 3}, {{"keepdims", std::int64_t{2}}}), Error);
  EXPECT_THROW(shape_of({2, 0}, {}), Error);
  const auto expand = operator_of("expand").schema.infer;
  EXPECT_THROW(expand({{{2, 3}, DType::f32}}, {}), Error);
  EXPECT_THROW(expand({{{2, 3}, DType::f32}}, {{"shape", Axes{2, 4}}}), Error);
  EXPECT_THROW(expand({{{1}, DType::f32}}, {{"shape", Axes{0}}}), Error);
}

}  // namespace reduce_test
}  // namespace headroom::testing
