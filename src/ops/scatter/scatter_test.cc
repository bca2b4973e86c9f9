#include "ops/scatter/scatter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace scatter_test {

std::vector<Values> run_all(const std::string& reduction, const Shape& data, const std::vector<Values>& in,
                            DType dtype = DType::f32) {
  const auto count = static_cast<std::int64_t>(in[1].size());
  std::vector<std::int64_t> rows = data.vector();
  rows[0] = count;
  const Case c{.tier = Tier::ci,
               .inputs = {data, {count}, Shape(rows)},
               .attrs = {{"reduction", reduction}},
               .dtypes = {dtype, DType::i64, dtype}};
  const Problem p = problem_of(operator_of("scatter"), c, DType::f32);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of("scatter")))
    if (accepts(kernel, p, cpu_capabilities()).ok) results.push_back(run_kernel(kernel, p, in).outputs[0]);
  EXPECT_FALSE(results.empty());
  return results;
}

// Rows 0 and 2 of three; row 0 is named by -3 too.
TEST(Scatter, EachReductionGoesThroughTheUpdatesInOrder) {
  const std::vector<Values> in = {{1, 2, 3, 4, 5, 6}, {0, 2, -3}, {10, 20, -1, -2, 3, 4}};
  for (DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32}) {
    for (const Values& y : run_all("none", {3, 2}, in, dtype)) EXPECT_EQ(y, (Values{3, 4, 3, 4, -1, -2}));
    for (const Values& y : run_all("add", {3, 2}, in, dtype)) EXPECT_EQ(y, (Values{14, 26, 3, 4, 4, 4}));
    for (const Values& y : run_all("mul", {3, 2}, in, dtype)) EXPECT_EQ(y, (Values{30, 160, 3, 4, -5, -12}));
    for (const Values& y : run_all("max", {3, 2}, in, dtype)) EXPECT_EQ(y, (Values{10, 20, 3, 4, 5, 6}));
    for (const Values& y : run_all("min", {3, 2}, in, dtype)) EXPECT_EQ(y, (Values{1, 2, 3, 4, -1, -2}));
  }
  for (const Values& y : run_all("none", {3}, {{1, 2, 3}, {1}, {9}}, DType::u8))
    EXPECT_EQ(y, (Values{1, 9, 3}));
}

TEST(Scatter, NanWinsAMaximum) {
  for (const char* how : {"max", "min"}) {
    for (const Values& y : run_all(how, {2}, {{std::nan(""), 1}, {0, 1}, {5, std::nan("")}}))
      EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << how;
  }
}

TEST(Scatter, APlaceOutsideStopsTheRun) {
  for (double place : {3.0, -4.0})
    EXPECT_THROW(run_all("add", {3}, {{1, 2, 3}, {place}, {1}}), Error) << place;
}

TEST(Scatter, RejectsBadRequests) {
  const auto infer = operator_of("scatter").schema.infer;
  const TensorType x{{3, 2}, DType::f32}, places{{4}, DType::i64}, updates{{4, 2}, DType::f32};
  EXPECT_EQ(infer({x, places, updates}, {})[0], x);
  EXPECT_THROW(infer({x, places}, {}), Error);
  EXPECT_THROW(infer({x, x, updates}, {}), Error);
  EXPECT_THROW(infer({x, {{4}, DType::f32}, updates}, {}), Error);
  EXPECT_THROW(infer({x, places, x}, {}), Error);
  EXPECT_THROW(infer({x, places, updates}, {{"reduction", std::string("mean")}}), Error);
  EXPECT_THROW(infer({{{3}, DType::u8}, places, {{4}, DType::u8}}, {{"reduction", std::string("add")}}),
               Error);
}

}  // namespace scatter_test
}  // namespace headroom::testing
