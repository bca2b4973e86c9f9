#include "ops/arg_max/arg_max.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace arg_max_test {

std::vector<Values> run_all(std::string_view op, const Shape& shape, const Values& x, const Attrs& attrs) {
  const Problem p =
      problem_of(operator_of(op), {.tier = Tier::ci, .inputs = {shape}, .attrs = attrs}, DType::f32);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, p, {x}).outputs[0]);
  return results;
}

TEST(ArgMax, OfEqualElementsTheFirstOrTheLast) {
  const Values x = {1, 3, 3, 2, 0, 0};
  const Attrs rows{{"axis", std::int64_t{1}}};
  Attrs last = rows;
  last.set("select_last_index", std::int64_t{1});
  for (const Values& y : run_all("arg_max", {2, 3}, x, rows)) EXPECT_EQ(y, (Values{1, 0}));
  for (const Values& y : run_all("arg_max", {2, 3}, x, last)) EXPECT_EQ(y, (Values{2, 0}));
  for (const Values& y : run_all("arg_min", {2, 3}, x, rows)) EXPECT_EQ(y, (Values{0, 1}));
  for (const Values& y : run_all("arg_min", {2, 3}, x, last)) EXPECT_EQ(y, (Values{0, 2}));
  for (const Values& y : run_all("arg_max", {2, 3}, x, {})) EXPECT_EQ(y, (Values{1, 0, 0}));
}

TEST(ArgMax, NanIsTheMost) {
  const Attrs rows{{"axis", std::int64_t{1}}};
  for (const char* op : {"arg_max", "arg_min"})
    for (const Values& y : run_all(op, {1, 4}, {1, std::nan(""), 5, std::nan("")}, rows))
      EXPECT_EQ(y, (Values{1})) << op;
}

TEST(ArgMax, AnAxisStaysOrGoes) {
  const auto infer = operator_of("arg_max").schema.infer;
  const TensorType x{{2, 3, 4}, DType::f32};
  EXPECT_EQ(infer({x}, {{"axis", std::int64_t{-2}}})[0], (TensorType{{2, 1, 4}, DType::i64}));
  EXPECT_EQ(infer({x}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}})[0],
            (TensorType{{2, 4}, DType::i64}));
  EXPECT_THROW(infer({x}, {{"axis", std::int64_t{3}}}), Error);
  EXPECT_THROW(infer({x}, {{"keepdims", std::int64_t{2}}}), Error);
  EXPECT_THROW(infer({x, x}, {}), Error);
}

}  // namespace arg_max_test
}  // namespace headroom::testing
