#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "graph/autodiff.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace cross_entropy_test {

Problem make(std::string_view op, std::vector<TensorType> inputs, const Attrs& attrs = {}) {
  Problem p{.op = std::string(op), .inputs = std::move(inputs), .outputs = {}, .attrs = attrs};
  p.outputs = schema_of(op).infer(p.inputs, p.attrs);
  return p;
}

Problem loss_problem(std::int64_t rows, std::int64_t classes, std::int64_t batch = 0,
                     DType labels = DType::i32) {
  return make("cross_entropy", {{{rows, classes}, DType::f64}, {{rows}, labels}}, {{"global_batch", batch}});
}

TEST(CrossEntropy, EqualScoresCostTheLogarithmOfTheClasses) {
  for (const Kernel& kernel : kernels_here(operator_of("cross_entropy"))) {
    const auto run = run_kernel(kernel, loss_problem(3, 8), {Values(24, 5.0), {0, 3, 7}});
    EXPECT_NEAR(run.outputs[0][0], std::log(8), 1e-14) << kernel.name;
    for (double p : run.outputs[1]) EXPECT_NEAR(p, 0.125, 1e-16) << kernel.name;
  }
}

TEST(CrossEntropy, DividesByTheGlobalBatch) {
  for (const Kernel& kernel : kernels_here(operator_of("cross_entropy"))) {
    const auto run = run_kernel(kernel, loss_problem(2, 2, 8), {Values(4, 0.0), {0, 1}});
    EXPECT_NEAR(run.outputs[0][0], 2 * std::log(2) / 8, 1e-16) << kernel.name;
  }
}

TEST(CrossEntropy, HugeMarginsStayFinite) {
  for (const Kernel& kernel : kernels_here(operator_of("cross_entropy"))) {
    const auto run = run_kernel(kernel, loss_problem(2, 2), {{1e4, 0, 1e4, 0}, {0, 1}});
    EXPECT_NEAR(run.outputs[0][0], 5000, 1e-9) << kernel.name;
  }
}

TEST(CrossEntropy, ALabelThatIsNoClassMakesTheLossNan) {
  for (const Kernel& kernel : kernels_here(operator_of("cross_entropy")))
    for (double label : {-1.0, 3.0, 2147483647.0, -2147483648.0})
      for (DType type : {DType::i32, DType::i64}) {
        const auto run = run_kernel(kernel, loss_problem(2, 3, 0, type), {Values(6, 1.0), {label, 0}});
        EXPECT_TRUE(std::isnan(run.outputs[0][0])) << kernel.name << " label " << label;
        for (double p : run.outputs[1]) EXPECT_NEAR(p, 1 / 3.0, 1e-15);
        EXPECT_TRUE(run.guards_intact);
      }
}

TEST(CrossEntropy, ALabelThatIsNoClassSpoilsItsRowOfTheGradient) {
  const Problem p = make("cross_entropy_grad", {{{1}, DType::f64}, {{2, 2}, DType::f64}, {{2}, DType::i32}});
  for (const Kernel& kernel : kernels_here(operator_of("cross_entropy_grad"))) {
    const auto run = run_kernel(kernel, p, {{1}, {0.5, 0.5, 0.25, 0.75}, {2, 1}});
    EXPECT_TRUE(std::isnan(run.outputs[0][0]) && std::isnan(run.outputs[0][1])) << kernel.name;
    EXPECT_EQ(run.outputs[0][2], 0.125) << kernel.name;
    EXPECT_EQ(run.outputs[0][3], -0.125) << kernel.name;
    EXPECT_TRUE(run.guards_intact);
  }
}

TEST(CrossEntropy, NanScoresMakeTheLossNan) {
  for (const Kernel& kernel : kernels_here(operator_of("cross_entropy")))
    for (std::size_t at = 0; at < 3; ++at) {
      Values x(6, 1.0);
      x[at] = std::nan("");
      EXPECT_TRUE(std::isnan(run_kernel(kernel, loss_problem(2, 3), {x, {1, 1}}).outputs[0][0]))
          << kernel.name;
    }
}

TEST(CrossEntropy, TheLossHasTheSameBitsForAnyNumberOfThreads) {
  const Operator& op = operator_of("cross_entropy");
  const Case c{.tier = Tier::ci, .inputs = {{3000, 10}, {3000}}, .fills = {{}, {Fill::Kind::label, 10}}};
  for (DType dtype : {DType::f32, DType::f64}) {
    const Problem p = problem_of(op, c, dtype);
    const auto inputs = inputs_of(p, c, Numbers::normal, 3);
    const int before = omp_get_max_threads();
    std::vector<double> losses;
    for (int threads : {1, 2, 3, 7}) {
      omp_set_num_threads(threads);
      losses.push_back(run_kernel(cpu_kernel(op), p, inputs).outputs[0][0]);
    }
    omp_set_num_threads(before);
    for (double loss : losses) EXPECT_EQ(loss, losses[0]);
  }
}

TEST(CrossEntropy, ProbabilitiesHaveNoGradient) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{4, 3}, DType::f32}, .role = Role::input});
  const ValueId labels = graph.add_value({.name = "labels", .type = {{4}, DType::i32}, .role = Role::input});
  const auto out = graph.add_node("cross_entropy", {x, labels}, {}, "loss");
  EXPECT_THROW(differentiate(graph, out[1], {x}), Error);
}

TEST(CrossEntropy, RejectsBadShapes) {
  const TensorType x{{4, 3}, DType::f32}, labels{{4}, DType::i32};
  EXPECT_THROW(make("cross_entropy", {x}), Error);
  EXPECT_THROW(make("cross_entropy", {x, {{3}, DType::i32}}), Error);
  EXPECT_THROW(make("cross_entropy", {x, {{4, 3}, DType::f32}}), Error);
  EXPECT_THROW(make("cross_entropy", {x, {{4}, DType::u8}}), Error);
  EXPECT_THROW(make("cross_entropy", {{{12}, DType::f32}, labels}), Error);
  EXPECT_THROW(make("cross_entropy", {{{4, 3}, DType::i32}, labels}), Error);
  EXPECT_THROW(make("cross_entropy", {x, labels}, {{"global_batch", std::int64_t{-1}}}), Error);
  EXPECT_THROW(make("cross_entropy_grad", {{{1}, DType::f64}, x, labels}), Error);
  EXPECT_THROW(make("cross_entropy_grad", {{{2}, DType::f32}, x, labels}), Error);
}

}  // namespace cross_entropy_test
}  // namespace headroom::testing
