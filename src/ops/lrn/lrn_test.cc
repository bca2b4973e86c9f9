#include "ops/lrn/lrn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace lrn_test {

Problem make(const Shape& x, Attrs attrs, DType dtype = DType::f64) {
  Problem p{.op = "lrn", .inputs = {{x, dtype}}, .outputs = {}, .attrs = std::move(attrs)};
  p.outputs = schema_of(p.op).infer(p.inputs, p.attrs);
  return p;
}

const Attr kTwo{std::int64_t{2}}, kThree{std::int64_t{3}}, kFive{std::int64_t{5}};

// alpha / size is 1, so that s is 1 plus the squares of the window.
TEST(Lrn, DividesByTheNeighboursThatExist) {
  const Problem p = make({1, 4, 1}, {{"size", kThree}, {"alpha", 3.0}, {"beta", 1.0}});
  for (const Kernel& kernel : kernels_here(operator_of("lrn"))) {
    const Values y = run_kernel(kernel, p, {{1, 2, 3, 4}}).outputs[0];
    const Values want = {1 / 6.0, 2 / 15.0, 3 / 30.0, 4 / 26.0};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], want[i], 1e-15) << kernel.name;
  }
}

TEST(Lrn, AnEvenWindowReachesFurtherUp) {
  const Problem p = make({1, 3, 1}, {{"size", kTwo}, {"alpha", 2.0}, {"beta", 1.0}});
  for (const Kernel& kernel : kernels_here(operator_of("lrn"))) {
    const Values y = run_kernel(kernel, p, {{1, 2, 3}}).outputs[0];
    const Values want = {1 / 6.0, 2 / 14.0, 3 / 10.0};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], want[i], 1e-15) << kernel.name;
  }
}

TEST(Lrn, NanAndLargeValuesStayInTheirWindow) {
  const Problem p = make({1, 9, 4}, {{"size", kThree}, {"alpha", 3.0}}, DType::f32);
  for (double spoilt : {std::nan(""), 1e15, double{INFINITY}}) {
    Values x(36, 1.0);
    x[1] = spoilt;
    for (const Kernel& kernel : kernels_here(operator_of("lrn"))) {
      const Values y = run_kernel(kernel, p, {x}).outputs[0];
      EXPECT_NEAR(y[2 * 4 + 1], std::pow(4, -0.75), 1e-6) << kernel.name << " after " << spoilt;
      EXPECT_NEAR(y[0], std::pow(3, -0.75), 1e-6);
    }
  }
}

TEST(Lrn, RejectsBadRequests) {
  EXPECT_THROW(make({2, 3, 4}, {}), Error);
  EXPECT_THROW(make({3}, {{"size", kFive}}), Error);
  EXPECT_THROW(make({2, 3}, {{"size", kFive}, {"bias", 0.0}}), Error);
  EXPECT_THROW(make({2, 3}, {{"size", kFive}, {"alpha", -1.0}}), Error);
  EXPECT_THROW(make({2, 3}, {{"size", kFive}, {"beta", std::nan("")}}), Error);
  EXPECT_THROW(make({2, 3}, {{"size", kFive}}, DType::i32), Error);
}

}  // namespace lrn_test
}  // namespace headroom::testing
