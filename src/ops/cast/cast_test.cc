#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace cast_test {

Values cast(const Values& x, DType from, const std::string& to) {
  const Case c{.tier = Tier::ci,
               .inputs = {{static_cast<std::int64_t>(x.size())}},
               .attrs = {{"to", to}},
               .dtypes = {from}};
  const Problem p = problem_of(operator_of("cast"), c, DType::f32);
  const Values y = run_kernel(reference_of(operator_of("cast")), p, {x}).outputs[0];
  for (const Kernel& kernel : kernels_here(operator_of("cast")))
    EXPECT_EQ(run_kernel(kernel, p, {x}).outputs[0], y) << kernel.name;
  return y;
}

TEST(Cast, DropsFractionsTowardsZero) {
  EXPECT_EQ(cast({1.9, -1.9, 0.5}, DType::f32, "int32"), (Values{1, -1, 0}));
  EXPECT_EQ(cast({1.9, -1.9, 0.5}, DType::f64, "int64"), (Values{1, -1, 0}));
}

TEST(Cast, StopsAtTheEndsOfIntegers) {
  EXPECT_EQ(cast({300, -5, 255.9, std::nan("")}, DType::f32, "uint8"), (Values{255, 0, 255, 0}));
  EXPECT_EQ(cast({3e9, -3e9, INFINITY, -INFINITY}, DType::f32, "int32"),
            (Values{2147483647, -2147483648.0, 2147483647, -2147483648.0}));
  EXPECT_EQ(cast({2147483647, -2147483648.0}, DType::f64, "int32"), (Values{2147483647, -2147483648.0}));
}

TEST(Cast, AnythingButZeroIsTrue) {
  EXPECT_EQ(cast({0, 0.25, -3, std::nan("")}, DType::f32, "bool"), (Values{0, 1, 1, 1}));
  EXPECT_EQ(cast({0, 256}, DType::i32, "bool"), (Values{0, 1}));
  EXPECT_EQ(cast({0, 1}, DType::boolean, "fp32"), (Values{0, 1}));
}

TEST(Cast, RoundsDoublesToNearest) {
  EXPECT_EQ(cast({0.1, 1e300}, DType::f64, "fp32"), (Values{double{0.1f}, INFINITY}));
}

Values cast_through(const Values& x, DType from, const std::string& to, const std::string& through) {
  const Case c{.tier = Tier::ci,
               .inputs = {{static_cast<std::int64_t>(x.size())}},
               .attrs = {{"to", to}, {"through", through}},
               .dtypes = {from}};
  const Problem p = problem_of(operator_of("cast"), c, DType::f32);
  const Values y = run_kernel(reference_of(operator_of("cast")), p, {x}).outputs[0];
  for (const Kernel& kernel : kernels_here(operator_of("cast")))
    EXPECT_EQ(run_kernel(kernel, p, {x}).outputs[0], y) << kernel.name;
  return y;
}

TEST(Cast, RoundsThroughSixteenBits) {
  EXPECT_EQ(cast_through({2049, 2051, -65519, 65520, 1e-8}, DType::f32, "fp32", "fp16"),
            (Values{2048, 2052, -65504, INFINITY, 0}));
  EXPECT_EQ(cast_through({257, 259, -1e30, 3.4e38}, DType::f32, "fp64", "bf16"),
            (Values{256, 260, -1.0002555517425873e30, INFINITY}));
  // Rounded once: fp32 would make a tie of it first.
  EXPECT_EQ(cast_through({2049 + 1e-9}, DType::f64, "fp32", "fp16"), (Values{2050}));
  EXPECT_EQ(cast_through({2049, 70000}, DType::i64, "fp32", "fp16"), (Values{2048, INFINITY}));
}

TEST(Cast, TakesSixteenBitFloatsAloneOnTheWay) {
  const Operator& op = operator_of("cast");
  for (const char* through : {"fp32", "int32", "half"})
    EXPECT_THROW(op.schema.infer({{{2}, DType::f32}},
                                 {{"to", std::string("fp32")}, {"through", std::string(through)}}),
                 Error);
  EXPECT_THROW(
      op.schema.infer({{{2}, DType::f32}}, {{"to", std::string("int32")}, {"through", std::string("fp16")}}),
      Error);
}

TEST(Cast, RejectsUnknownTypesAndRefusesHalves) {
  const Operator& op = operator_of("cast");
  EXPECT_THROW(op.schema.infer({{{2}, DType::f32}}, {{"to", std::string("float")}}), Error);
  EXPECT_THROW(op.schema.infer({{{2}, DType::f32}}, {}), Error);
  const Case c{.tier = Tier::ci, .inputs = {{2}}, .attrs = {{"to", std::string("fp16")}}};
  EXPECT_FALSE(cpu_kernel(op).accepts(problem_of(op, c, DType::f32), cpu_capabilities()).ok);
}

}  // namespace cast_test
}  // namespace headroom::testing
