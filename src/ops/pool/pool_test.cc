#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/pool/pool.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace pool_test {

using Integers = std::vector<std::int64_t>;
const Attrs kTwo{{"kernel", Integers{2, 2}}};
const Attr kOn{std::int64_t{1}};

Problem make(std::string_view op, std::vector<Shape> inputs, const Attrs& attrs, DType dtype = DType::f32) {
  return problem_of(operator_of(op), {.tier = Tier::ci, .inputs = std::move(inputs), .attrs = attrs}, dtype);
}

// Runs every kernel that accepts and expects the same numbers of each.
void expect_all(const Problem& problem, const std::vector<Values>& inputs, const Values& want) {
  for (const Kernel& kernel : kernels_here(operator_of(problem.op))) {
    if (!kernel.accepts(problem, cpu_capabilities()).ok) continue;
    const Values got = run_kernel(kernel, problem, inputs).outputs[0];
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i]))
        EXPECT_TRUE(std::isnan(got[i])) << kernel.name << " element " << i;
      else
        EXPECT_EQ(got[i], want[i]) << kernel.name << " element " << i;
    }
  }
}

TEST(Pool, LargestOfEachWindow) {
  expect_all(make("max_pool", {{1, 1, 2, 4}}, kTwo), {{1, 2, 5, 4, 3, 0, -1, -2}}, {3, 5});
}

TEST(Pool, PaddingIsLessThanAnyNumber) {
  const Attrs attrs{{"kernel", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}};
  expect_all(make("max_pool", {{1, 1, 2, 2}}, attrs), {{-4, -3, -2, -5}}, {-2});
}

TEST(Pool, TheFirstOfEqualsTakesTheGradient) {
  const Problem p = make("max_pool_grad", {{1, 1, 1, 2}, {1, 1, 2, 4}, {1, 1, 1, 2}}, kTwo);
  expect_all(p, {{10, 20}, {7, 7, 1, 2, 7, 7, 2, 2}, {7, 2}}, {10, 0, 0, 20, 0, 0, 0, 0});
}

TEST(Pool, GradientsOfOverlappingWindowsAdd) {
  const Attrs attrs{{"kernel", Integers{1, 2}}, {"strides", Integers{1, 1}}};
  const Problem p = make("max_pool_grad", {{1, 1, 1, 2}, {1, 1, 1, 3}, {1, 1, 1, 2}}, attrs);
  expect_all(p, {{10, 20}, {1, 3, 2}, {3, 3}}, {0, 30, 0});
}

TEST(Pool, NanIsTheMaximumWhereverItStands) {
  const double nan = std::nan("");
  for (std::size_t at = 0; at < 4; ++at) {
    for (std::int64_t width : {2, 34}) {  // scalar and vector code
      Values x(static_cast<std::size_t>(2 * width), 1.0);
      x[at / 2 * static_cast<std::size_t>(width) + at % 2] = nan;
      Values y(static_cast<std::size_t>(width / 2), 1.0), dx(x.size(), 0.0);
      y[0] = nan;
      expect_all(make("max_pool", {{1, 1, 2, width}}, kTwo), {x}, y);
      for (std::size_t j = 1; j < y.size(); ++j) dx[2 * j] = 1;
      dx[at / 2 * static_cast<std::size_t>(width) + at % 2] = 1;
      const Shape out{1, 1, 1, width / 2};
      expect_all(make("max_pool_grad", {out, {1, 1, 2, width}, out}, kTwo), {Values(y.size(), 1.0), x, y},
                 dx);
    }
  }
}

TEST(Pool, TheFirstNanTakesTheGradient) {
  const double nan = std::nan("");
  const Problem p = make("max_pool_grad", {{1, 1, 1, 1}, {1, 1, 2, 2}, {1, 1, 1, 1}}, kTwo);
  expect_all(p, {{5}, {9, nan, nan, 10}, {nan}}, {0, 5, 0, 0});
}

TEST(Pool, MinusInfinityIsAMaximumToo) {
  const double low = -std::numeric_limits<double>::infinity();
  expect_all(make("max_pool", {{1, 1, 2, 2}}, kTwo), {{low, low, low, low}}, {low});
  const Problem p = make("max_pool_grad", {{1, 1, 1, 1}, {1, 1, 2, 2}, {1, 1, 1, 1}}, kTwo);
  expect_all(p, {{5}, {low, low, low, low}, {low}}, {5, 0, 0, 0});
}

TEST(Pool, MeanCountsPaddingOnlyWhenAsked) {
  Attrs attrs{{"kernel", Integers{2, 2}}, {"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 0, 0}}};
  expect_all(make("avg_pool", {{1, 1, 1, 1}}, attrs), {{8}}, {8});
  expect_all(make("avg_pool", {{1, 1, 2, 2}}, attrs), {{8, 8, 8, 8}}, {8, 8, 8, 8});
  attrs.set("count_include_pad", kOn);
  expect_all(make("avg_pool", {{1, 1, 2, 2}}, attrs), {{8, 8, 8, 8}}, {2, 4, 4, 8});
}

// As PyTorch: the window over columns 2..3 of a width of 3 divides by the column it has, padding or not.
TEST(Pool, CeilModeNeverCountsWhatHangsOver) {
  Attrs attrs{{"kernel", Integers{1, 2}}, {"ceil_mode", kOn}, {"count_include_pad", kOn}};
  expect_all(make("avg_pool", {{1, 1, 1, 3}}, attrs), {{2, 4, 7}}, {3, 7});
  attrs.set("input_shape", Integers{1, 1, 1, 3});
  expect_all(make("avg_pool_grad", {{1, 1, 1, 2}}, attrs), {{6, 5}}, {3, 3, 5});
}

// Two taps three apart around a single element: the window has room to miss the input altogether.
TEST(Pool, AWindowThatSeesOnlyPadding) {
  const Attrs attrs{{"kernel", Integers{1, 2}},
                    {"dilations", Integers{1, 3}},
                    {"strides", Integers{1, 1}},
                    {"pads", Integers{0, 2, 0, 2}}};
  const double low = -std::numeric_limits<double>::infinity();
  expect_all(make("max_pool", {{1, 1, 1, 1}}, attrs), {{9}}, {low, low});
  expect_all(make("avg_pool", {{1, 1, 1, 1}}, attrs), {{9}}, {0, 0});
  const Shape out{1, 1, 1, 2};
  expect_all(make("max_pool_grad", {out, {1, 1, 1, 1}, out}, attrs), {{1, 2}, {9}, {low, low}}, {0});
}

TEST(Pool, PairsRefuseOtherWindowsWithAReason) {
  for (const Attrs& attrs :
       {Attrs{{"kernel", Integers{2, 2}}, {"ceil_mode", kOn}},
        Attrs{{"kernel", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}},
        Attrs{{"kernel", Integers{2, 2}}, {"strides", Integers{1, 1}}}, Attrs{{"kernel", Integers{3, 3}}}}) {
    const Verdict v = cpu_kernel(operator_of("max_pool"))
                          .accepts(make("max_pool", {{1, 1, 7, 7}}, attrs), cpu_capabilities());
    EXPECT_FALSE(v.ok);
    EXPECT_FALSE(v.reason.empty());
  }
}

TEST(Pool, RejectsBadShapes) {
  EXPECT_THROW(make("max_pool", {{1, 1, 4, 4}}, {}), Error);
  EXPECT_THROW(make("max_pool", {{4, 4}}, kTwo), Error);
  EXPECT_THROW(make("max_pool", {{0, 1, 4, 4}}, kTwo), Error);
  EXPECT_THROW(make("max_pool", {{1, 1, 4, 4}, {1, 1, 4, 4}}, kTwo), Error);
  EXPECT_THROW(make("avg_pool", {{1, 1, 4, 4}}, kTwo, DType::i32), Error);
  EXPECT_THROW(make("max_pool_grad", {{1, 1, 4, 4}, {1, 1, 4, 4}, {1, 1, 2, 2}}, kTwo), Error);
  EXPECT_THROW(make("max_pool_grad", {{1, 1, 2, 2}, {1, 1, 4, 4}, {1, 1, 4, 4}}, kTwo), Error);
  Attrs attrs = kTwo;
  EXPECT_THROW(make("avg_pool_grad", {{1, 1, 2, 2}}, attrs), Error);
  attrs.set("input_shape", Integers{1, 1, 6, 4});
  EXPECT_THROW(make("avg_pool_grad", {{1, 1, 2, 2}}, attrs), Error);
}

}  // namespace pool_test
}  // namespace headroom::testing
