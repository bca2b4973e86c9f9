#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace unary_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// By every kernel, which must agree.
Values run(std::string_view op, const std::vector<Values>& inputs, const Attrs& attrs = {},
           DType dtype = DType::f64) {
  const Shape shape{static_cast<std::int64_t>(inputs[0].size())};
  const Case c{.tier = Tier::ci, .inputs = std::vector<Shape>(inputs.size(), shape), .attrs = attrs};
  const Problem problem = problem_of(operator_of(op), c, dtype);
  Values first;
  for (const Kernel& kernel : kernels_here(operator_of(op))) {
    const Values y = run_kernel(kernel, problem, inputs).outputs[0];
    if (first.empty()) first = y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] == first[i] || (std::isnan(y[i]) && std::isnan(first[i]))) continue;
      EXPECT_NEAR(y[i], first[i], 1e-6) << kernel.name << " at " << i;
    }
  }
  return first;
}

TEST(Unary, OverflowAndUnderflowAreInfinityAndZero) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Values y = run("exp", {{1000, -1000, kInfinity, -kInfinity, 0}}, {}, dtype);
    EXPECT_EQ((Values{y[1], y[3], y[4]}), (Values{0, 0, 1}));
    EXPECT_TRUE(std::isinf(y[0]) && std::isinf(y[2]));
  }
}

TEST(Unary, LogarithmsOfZeroAndLess) {
  const Values y = run("log", {{0, -1, 1, std::exp(1.0)}});
  EXPECT_EQ(y[0], -kInfinity);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], 1, 1e-15);
}

TEST(Unary, InverseFunctionsAtTheEndsOfTheirDomains) {
  const double quarter = std::acos(0.0);
  EXPECT_EQ(run("asin", {{-1, 0, 1}}), (Values{-quarter, 0, quarter}));
  EXPECT_EQ(run("acos", {{-1, 0, 1}}), (Values{2 * quarter, quarter, 0}));
  EXPECT_EQ(run("atan", {{-kInfinity, 0, kInfinity}}), (Values{-quarter, 0, quarter}));
  EXPECT_EQ(run("atanh", {{-1, 0, 1}}), (Values{-kInfinity, 0, kInfinity}));
  EXPECT_EQ(run("acosh", {{1, kInfinity}}), (Values{0, kInfinity}));
  EXPECT_EQ(run("sinh", {{-kInfinity, 0, 1000}}), (Values{-kInfinity, 0, kInfinity}));
  EXPECT_EQ(run("cosh", {{-kInfinity, 0, 1000}}), (Values{kInfinity, 1, kInfinity}));
  EXPECT_NEAR(run("asinh", {{1e300}})[0], std::log(2.0) + 300 * std::log(10.0), 1e-10) << "x^2 overflows";
  EXPECT_NEAR(run("asinh_grad", {{1}, {1e300}})[0] * 1e300, 1, 1e-12);
  for (const char* op : {"asin", "acos", "atanh"}) EXPECT_TRUE(std::isnan(run(op, {{1.5}})[0])) << op;
  EXPECT_TRUE(std::isnan(run("acosh", {{0.5}})[0]));
  EXPECT_EQ(run("asin_grad", {{1}, {1}})[0], kInfinity);
  EXPECT_NEAR(run("tan_grad", {{2}, {3}})[0], 20, 1e-12) << "from y: 1 + y^2";
}

TEST(Unary, KnownValues) {
  EXPECT_EQ(run("sqrt", {{9, 0, 2.25}}), (Values{3, 0, 1.5}));
  EXPECT_EQ(run("abs", {{-2, 3, 0}}), (Values{2, 3, 0}));
  EXPECT_EQ(run("leaky_relu", {{-2, 3}}, {{"alpha", 0.5}}), (Values{-1, 3}));
  EXPECT_EQ(run("leaky_relu", {{-100}}), (Values{-1}));
  EXPECT_EQ(run("clip", {{-2, 0.5, 2}}, {{"min", -1.0}, {"max", 1.0}}), (Values{-1, 0.5, 1}));
  EXPECT_EQ(run("clip", {{-2, 2}}, {{"min", 1.0}, {"max", 0.0}}), (Values{0, 0})) << "ONNX: the maximum wins";
  EXPECT_EQ(run("clip", {{-2, 2}}), (Values{-2, 2}));
  EXPECT_EQ(run("threshold", {{-2, 0.5, 0, 2}}), (Values{0, 0.5, 0, 2}));
  EXPECT_EQ(run("threshold", {{-2, 0.5, 1, 2}}, {{"threshold", 1.0}, {"value", 9.0}}), (Values{9, 9, 9, 2}));
  EXPECT_EQ(run("hard_sigmoid", {{-3, 0, 3}}), (Values{0, 0.5, 1}));
  EXPECT_EQ(run("hard_swish", {{-4, 0, 4}}), (Values{0, 0, 4}));
  EXPECT_NEAR(run("hard_swish", {{1}})[0], 2 / 3.0, 1e-15);
  EXPECT_NEAR(run("elu", {{-1}}, {{"alpha", 2.0}})[0], 2 * std::expm1(-1), 1e-15);
  EXPECT_NEAR(run("erf", {{0.5}})[0], 0.5204998778130465, 1e-15);
}

TEST(Unary, RoundingAndSigns) {
  EXPECT_EQ(run("floor", {{-1.5, 1.5, 2}}), (Values{-2, 1, 2}));
  EXPECT_EQ(run("ceil", {{-1.5, 1.5, 2}}), (Values{-1, 2, 2}));
  EXPECT_EQ(run("round", {{0.5, 1.5, 2.5, -0.5, -1.5, 2.4}}), (Values{0, 2, 2, 0, -2, 2}));
  EXPECT_EQ(run("sign", {{-3, 0, 5}}), (Values{-1, 0, 1}));
}

TEST(Unary, SoftplusNeitherOverflowsNorVanishes) {
  const Values y = run("softplus", {{1000, -1000, 0, -40}});
  EXPECT_EQ((Values{y[0], y[1]}), (Values{1000, 0}));
  EXPECT_NEAR(y[2], std::log(2.0), 1e-15);
  EXPECT_NEAR(y[3], std::exp(-40.0), 1e-30);
}

// Made with 50 digits by another program.
TEST(Unary, GeluAndItsApproximation) {
  EXPECT_NEAR(run("gelu", {{1}})[0], 0.84134474606854295, 1e-15);
  EXPECT_NEAR(run("gelu", {{-2}})[0], -0.045500263896358414, 1e-15);
  EXPECT_NEAR(run("gelu", {{1}}, {{"approximate", std::string("tanh")}})[0], 0.8411919906082767, 1e-15);
  for (const std::string how : {"none", "tanh"}) {
    const Values y = run("gelu", {{50, -50, 0}}, {{"approximate", how}});
    EXPECT_EQ(y[0], 50);
    EXPECT_NEAR(y[1], 0, 1e-100);
    EXPECT_EQ(y[2], 0);
  }
}

TEST(Unary, SlopesAtKinksArePytorchs) {
  EXPECT_EQ(run("abs_grad", {{1, 1, 1}, {-2, 0, 2}}), (Values{-1, 0, 1}));
  EXPECT_EQ(run("leaky_relu_grad", {{1, 1}, {0, 1}}, {{"alpha", 0.5}}), (Values{0.5, 1}));
  EXPECT_EQ(run("clip_grad", {{1, 1, 1, 1}, {-1, 1, -1.5, 1.5}}, {{"min", -1.0}, {"max", 1.0}}),
            (Values{1, 1, 0, 0}));
  EXPECT_EQ(run("hard_sigmoid_grad", {{1, 1, 1}, {0, 0.5, 1}}), (Values{0, 0.2, 0}));
  EXPECT_EQ(run("hard_swish_grad", {{1, 1, 1}, {-4, 0, 4}}), (Values{0, 0.5, 1}));
}

TEST(Unary, NanShows) {
  for (const char* op :
       {"exp", "log", "sqrt", "neg", "abs", "erf", "gelu", "elu", "leaky_relu", "clip", "hard_sigmoid",
        "hard_swish", "floor", "ceil", "round", "sign", "sin", "cos", "softplus"})
    EXPECT_TRUE(std::isnan(run(op, {{std::nan("")}})[0])) << op;
}

// Arguments that need care, here and there: their neighbours may take another path, but always the same.
TEST(Unary, ExpAndLogHaveTheSameBitsForAnyNumberOfThreads) {
  Values x(100003);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01 + static_cast<double>(i % 977) / 100;
  for (std::size_t i = 500; i < x.size(); i += 7919) x[i] = i % 2 == 0 ? -kInfinity : 1e-40;
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const int before = omp_get_max_threads();
  for (const char* name : {"exp", "log"}) {
    const Operator& op = operator_of(name);
    const Problem p = problem_of(op, {.tier = Tier::ci, .inputs = {shape}}, DType::f32);
    omp_set_num_threads(1);
    const Values alone = run_kernel(cpu_kernel(op), p, {x}).outputs[0];
    const Values want = run_kernel(reference_of(op), p, {x}).outputs[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(alone[i])) << name << " at " << i;
      } else if (alone[i] != want[i]) {
        EXPECT_NEAR(alone[i], want[i], 5e-7 * std::abs(want[i])) << name << " at " << i;
      }
    }
    for (int threads : {2, 3, 5}) {
      omp_set_num_threads(threads);
      const Values y = run_kernel(cpu_kernel(op), p, {x}).outputs[0];
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(y[i] == alone[i] || std::isnan(alone[i])) << name << " at " << i;
    }
  }
  omp_set_num_threads(before);
}

TEST(Unary, RejectsBadRequests) {
  const TensorType x{{3}, DType::f32};
  const auto infer = [](std::string_view op, std::vector<TensorType> in, const Attrs& attrs = {}) {
    return operator_of(op).schema.infer(in, attrs);
  };
  EXPECT_THROW(infer("exp", {}), Error);
  EXPECT_THROW(infer("exp", {{{3}, DType::i32}}), Error);
  EXPECT_THROW(infer("elu", {x}, {{"alpha", -1.0}}), Error);
  EXPECT_THROW(infer("gelu", {x}, {{"approximate", std::string("maybe")}}), Error);
  EXPECT_THROW(infer("clip", {x}, {{"min", std::nan("")}}), Error);
  EXPECT_THROW(infer("abs_grad", {x, {{4}, DType::f32}}), Error);
}

}  // namespace unary_test
}  // namespace headroom::testing
