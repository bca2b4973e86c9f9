#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/autodiff.h"
#include "ops/testing/graph_run.h"

namespace headroom::testing {
namespace binary_test {

std::vector<Values> run_all(std::string_view op, const std::vector<Shape>& shapes,
                            const std::vector<Values>& inputs, DType dtype = DType::f32) {
  const Problem problem = problem_of(operator_of(op), {.tier = Tier::ci, .inputs = shapes}, dtype);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, problem, inputs).outputs[0]);
  return results;
}

// The operators that a gradient is made of.
std::vector<std::string> gradient_ops(std::string_view op, const Shape& a, const Shape& b) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "a", .type = {a, DType::f32}, .role = Role::parameter});
  const ValueId z = graph.add_value({.name = "b", .type = {b, DType::f32}, .role = Role::parameter});
  const ValueId y = graph.add_node(op, {x, z}, {}, "tested").at(0);
  const auto gradients = differentiate(graph, y, {x, z});
  EXPECT_EQ(graph.value(gradients.at(x)).type.shape, a);
  EXPECT_EQ(graph.value(gradients.at(z)).type.shape, b);
  std::vector<std::string> ops;
  for (std::size_t n = 1; n < graph.nodes().size(); ++n) ops.push_back(graph.nodes()[n].op);
  return ops;
}

TEST(Binary, RowsAndColumnsMeet) {
  for (const Values& y : run_all("sub", {{2, 1}, {3}}, {{10, 20}, {1, 2, 3}}))
    EXPECT_EQ(y, (Values{9, 8, 7, 19, 18, 17}));
  for (const Values& y : run_all("mul", {{2}, {2, 2}}, {{10, 20}, {1, 2, 3, 4}}))
    EXPECT_EQ(y, (Values{10, 40, 30, 80}));
}

TEST(Binary, DivisionFollowsIeee) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Values& y : run_all("div", {{3}, {1}}, {{1, -1, 0}, {0}})) {
    EXPECT_EQ(y[0], infinity);
    EXPECT_EQ(y[1], -infinity);
    EXPECT_TRUE(std::isnan(y[2]));
  }
}

// One divisor for all takes another path, where its inverse is a normal number.
TEST(Binary, DivisionByOneNumber) {
  const double infinity = std::numeric_limits<double>::infinity(), tiny = 1e-40;
  for (const Values& y : run_all("div", {{3}, {1}}, {{1, -6, 0}, {3}})) {
    EXPECT_NEAR(y[0], 1 / 3.0, 4e-8);
    EXPECT_NEAR(y[1], -2, 2.5e-7);
    EXPECT_EQ(y[2], 0);
  }
  for (const Values& y : run_all("div", {{3}, {1}}, {{0, 1e-39, 2}, {tiny}})) {
    EXPECT_EQ(y[0], 0);
    EXPECT_NEAR(y[1], 10, 1e-3);
    EXPECT_EQ(y[2], infinity);
  }
  for (const Values& y : run_all("div", {{3}, {1}}, {{1, 3e38, infinity}, {infinity}})) {
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
  }
  for (const Values& y : run_all("div", {{1}, {1}}, {{3e38}, {2e38}})) EXPECT_NEAR(y[0], 1.5, 1e-6);
  for (const Values& y : run_all("div", {{2}, {1}}, {{1, 10}, {3}}, DType::f64))
    EXPECT_EQ(y, (Values{1 / 3.0, 10 / 3.0}));
}

TEST(Binary, PowersOfNegativeNumbersAndZero) {
  for (DType dtype : {DType::f32, DType::f64}) {
    for (const Values& y :
         run_all("pow", {{6}, {6}}, {{-2, -2, 0, 0, -8, 3}, {2, 3, 0, -1, 0.5, 0}}, dtype)) {
      EXPECT_EQ((Values{y[0], y[1], y[2], y[5]}), (Values{4, -8, 1, 1}));
      EXPECT_TRUE(std::isinf(y[3]));
      EXPECT_TRUE(std::isnan(y[4]));
    }
    for (double e : {2.0, 3.0})  // one exponent for all takes another path
      for (const Values& y : run_all("pow", {{3}, {1}}, {{-2, 0, 1.5}, {e}}, dtype))
        EXPECT_EQ(y, (Values{std::pow(-2, e), 0, std::pow(1.5, e)}));
  }
}

TEST(Binary, GradientsOfPowersAtZeroAreFinite) {
  for (const Values& dx : run_all("pow_grad_base", {{3}, {3}, {3}}, {{1, 1, 1}, {0, 0, 0}, {0, 1, 2}}))
    EXPECT_EQ(dx, (Values{0, 1, 0}));
  for (const Values& de : run_all("pow_grad_exponent", {{2}, {2}, {2}}, {{1, 1}, {0, 1}, {0, 1}}))
    EXPECT_EQ(de, (Values{0, 0}));
}

TEST(Binary, EqualShapesEmitNoReduction) {
  using Ops = std::vector<std::string>;
  EXPECT_EQ(gradient_ops("add", {2, 3}, {2, 3}), Ops{});
  EXPECT_EQ(gradient_ops("mul", {2, 3}, {2, 3}), (Ops{"mul", "mul"}));
  EXPECT_EQ(gradient_ops("add", {2, 3}, {3}), (Ops{"reduce_sum", "reshape"}));
  EXPECT_EQ(gradient_ops("add", {2, 3}, {1, 3}), (Ops{"reduce_sum"}));
  EXPECT_EQ(gradient_ops("sub", {1}, {2, 3}), (Ops{"reduce_sum", "reshape", "neg"}));
}

TEST(Binary, AddOfAValueToItselfHasTwiceTheGradient) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{3}, DType::f64}, .role = Role::input});
  const ValueId y = graph.add_node("add", {x, x}, {}, "twice").at(0);
  const ValueId dx = differentiate(graph, y, {x}).at(x);
  EXPECT_EQ(interpret(graph, {{x, {1, 2, 3}}}).at(dx), (Values{2, 2, 2}));
}

TEST(Binary, MaximumAndMinimumShowNan) {
  const double nan = std::nan("");
  for (const char* op : {"maximum", "minimum"})
    for (const Values& y : run_all(op, {{4}, {4}}, {{nan, 1, 3, -2}, {1, nan, 2, -1}})) {
      EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << op;
      EXPECT_EQ((Values{y[2], y[3]}), op == std::string("maximum") ? (Values{3, -1}) : (Values{2, -2}));
    }
}

std::vector<Values> run_typed(std::string_view op, const std::vector<Values>& inputs, DType dtype,
                              const Attrs& attrs = {}) {
  const Shape shape{static_cast<std::int64_t>(inputs[0].size())};
  const Problem problem = problem_of(
      operator_of(op), {.tier = Tier::ci, .inputs = {shape, shape}, .attrs = attrs, .dtypes = {dtype, dtype}},
      DType::f32);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, problem, inputs).outputs[0]);
  return results;
}

TEST(Binary, IntegersDropFractionsAndDoNotStopAtZero) {
  for (DType dtype : {DType::i32, DType::i64}) {
    for (const Values& y : run_typed("div", {{7, -7, 5, 0}, {2, 2, 0, 0}}, dtype))
      EXPECT_EQ(y, (Values{3, -3, 0, 0}));
    for (const Values& y : run_typed("mod", {{7, -7, 7, 5}, {3, 3, -3, 0}}, dtype))
      EXPECT_EQ(y, (Values{1, 2, -2, 0}));
    for (const Values& y : run_typed("sub", {{1, 2}, {3, 1}}, dtype)) EXPECT_EQ(y, (Values{-2, 1}));
  }
  for (const Values& y : run_typed("div", {{-2147483648.0}, {-1}}, DType::i32))
    EXPECT_EQ(y, (Values{-2147483648.0}));
  for (const Values& y : run_typed("mod", {{-2147483648.0}, {-1}}, DType::i32)) EXPECT_EQ(y, (Values{0}));
}

TEST(Binary, ModHasTheSignOfEitherOperand) {
  const std::vector<Values> in = {{-7, 7, 5.5, -6}, {3, -3, 2, 3}};
  for (DType dtype : {DType::f32, DType::f64}) {
    for (const Values& y : run_typed("mod", in, dtype)) EXPECT_EQ(y, (Values{2, -2, 1.5, 0}));
    for (const Values& y : run_typed("mod", in, dtype, {{"fmod", std::int64_t{1}}}))
      EXPECT_EQ(y, (Values{-1, 1, 1.5, 0}));
  }
}

TEST(Binary, RejectsWhatDoesNotFit) {
  const auto infer = operator_of("mul").schema.infer;
  EXPECT_THROW(infer({{{2, 3}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({{{2, 3}, DType::f32}, {{3, 2}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({{{2, 3}, DType::f32}, {{2, 3}, DType::f64}}, {}), Error);
  EXPECT_THROW(infer({{{2}, DType::i32}, {{2}, DType::i64}}, {}), Error);
  EXPECT_THROW(infer({{{2}, DType::u8}, {{2}, DType::u8}}, {}), Error);
  const auto infer_pow = operator_of("pow").schema.infer;
  EXPECT_THROW(infer_pow({{{2}, DType::i32}, {{2}, DType::i32}}, {}), Error);
  EXPECT_THROW(
      operator_of("mod").schema.infer({{{2}, DType::f32}, {{2}, DType::f32}}, {{"fmod", std::int64_t{2}}}),
      Error);
}

}  // namespace binary_test
}  // namespace headroom::testing
