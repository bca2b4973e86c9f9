#include "ops/updates/updates.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace updates_test {

using Integers = std::vector<std::int64_t>;

Problem make(const char* op, const std::vector<Values>& inputs, const Attrs& attrs,
             DType dtype = DType::f64) {
  Problem p{.op = op, .inputs = {}, .outputs = {}, .attrs = attrs};
  const std::size_t scalars = find_update_rule(op)->counts_steps ? 2 : 1;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    p.inputs.push_back({{static_cast<std::int64_t>(inputs[i].size())}, i < scalars ? DType::f64 : dtype});
  p.outputs = schema_of(op).infer(p.inputs, p.attrs);
  return p;
}

// Every kernel's outputs must be these.
void expect_step(const char* op, const Attrs& attrs, const std::vector<Values>& inputs,
                 const std::vector<Values>& want) {
  for (const Kernel& kernel : kernels_for(make(op, inputs, attrs))) {
    const auto got = run_kernel(kernel, make(op, inputs, attrs), inputs).outputs;
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t o = 0; o < want.size(); ++o)
      for (std::size_t i = 0; i < want[o].size(); ++i)
        EXPECT_NEAR(got[o][i], want[o][i], 1e-14) << op << " by " << kernel.name << ", output " << o;
  }
}

TEST(Updates, Adagrad) {  // 9 + 4^2 = 25, whose root is 5
  expect_step("adagrad", {{"epsilon", 3.0}}, {{0.5}, {1}, {4}, {9}}, {{0.75}, {25}});
}

TEST(Updates, Adadelta) {  // s = 0.5 * 2 + 0.5 * 4 = 3; d = 2 * sqrt(16) / sqrt(4) = 4; a = 7.5 + 8
  expect_step("adadelta", {{"rho", 0.5}, {"epsilon", 1.0}}, {{0.5}, {1}, {2}, {2}, {15}},
              {{-1}, {3}, {15.5}});
}

TEST(Updates, Rmsprop) {  // s = 0.5 * 2 + 0.5 * 16 = 9; d = 4 / (3 + 1)
  const Attrs plain{{"alpha", 0.5}, {"epsilon", 1.0}};
  expect_step("rmsprop", plain, {{0.5}, {1}, {4}, {2}}, {{0.5}, {9}});
  Attrs heavy = plain;
  heavy.set("momentum", 0.5);
  expect_step("rmsprop", heavy, {{0.5}, {1}, {4}, {2}, {6}}, {{-1}, {9}, {4}});
}

TEST(Updates, AdamCorrectsItsFirstSteps) {
  // Step 1 from zero: m = g / 2, v = g^2 / 4; corrected they are g and g^2, and the step is the sign.
  const Attrs attrs{{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0.0}};
  expect_step("adam", attrs, {{0.125}, {1}, {1}, {-8}, {0}, {0}}, {{1.125}, {-4}, {16}});
  // Step 2: m = 3, v = 9 * 7/16; corrected 4 and 9.
  expect_step("adam", attrs, {{0.125}, {2}, {1}, {6}, {0}, {-6.75}}, {{1 - 0.125 * 4 / 3}, {3}, {3.9375}});
}

TEST(Updates, L2JoinsTheGradientButShrinksTheWeightsOfAdamw) {
  const Attrs attrs{
      {"beta1", 0.0}, {"beta2", 0.0}, {"epsilon", 0.0}, {"l2", 0.5}, {"penalized", Integers{1, 0}}};
  const std::vector<Values> inputs = {{0.5}, {1}, {4}, {-1}, {0}, {0}, {4}, {-1}, {0}, {0}};
  expect_step("adam", attrs, inputs, {{3.5}, {1}, {1}, {4.5}, {-1}, {1}});    // g' = -1 + 2
  expect_step("adamw", attrs, inputs, {{3.5}, {-1}, {1}, {4.5}, {-1}, {1}});  // 4 * 0.75 + 0.5
  expect_step("adagrad", {{"epsilon", 0.0}, {"l2", 0.5}, {"penalized", Integers{1}}}, {{0.5}, {4}, {-1}, {0}},
              {{3.5}, {1}});
}

TEST(Updates, LayoutsNameTheirStates) {
  using Names = std::vector<std::string_view>;
  const auto states = [](const char* op, const Attrs& attrs = {}) {
    return layout_of(*find_update_rule(op), attrs).states;
  };
  EXPECT_EQ(states("sgd"), Names{});
  EXPECT_EQ(states("sgd", {{"momentum", 0.9}}), Names{"momentum"});
  EXPECT_EQ(states("rmsprop"), Names{"square_average"});
  EXPECT_EQ(states("rmsprop", {{"momentum", 0.9}}), (Names{"square_average", "momentum"}));
  EXPECT_EQ(states("adamw"), (Names{"first_moment", "second_moment"}));
  EXPECT_EQ(find_update_rule("add"), nullptr);
  const std::vector<Values> inputs = {{0.5}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}};
  const Problem p = make("adam", inputs, {});
  EXPECT_EQ(schema_of("adam").aliases(p), (std::vector<int>{2, 4, 5, 6, 8, 9}));
}

TEST(Updates, HaveTheSameBitsForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const UpdateRule* rule : update_rules()) {
    const Operator& op = operator_of(rule->name);
    for (const Case& c : op.cases) {
      if (c.tier == Tier::perf) continue;
      const Problem p = problem_of(op, c, DType::f32);
      const auto inputs = inputs_of(p, c, Numbers::normal, 3);
      omp_set_num_threads(1);
      const auto alone = run_kernel(cpu_kernel(op), p, inputs).outputs;
      omp_set_num_threads(3);
      EXPECT_EQ(run_kernel(cpu_kernel(op), p, inputs).outputs, alone) << p.str();
    }
  }
  omp_set_num_threads(before);
}

TEST(Updates, NanStaysWithItsElement) {
  for (const UpdateRule* rule : update_rules()) {
    const std::string op(rule->name);
    const UpdateLayout layout = layout_of(*rule, {});
    std::vector<Values> inputs(layout.scalars, {1.0});
    inputs.insert(inputs.end(), {{1, 1}, {std::nan(""), 1}});
    inputs.insert(inputs.end(), layout.states.size(), {1, 1});
    for (const Kernel& kernel : kernels_for(make(op.c_str(), inputs, {}))) {
      const auto out = run_kernel(kernel, make(op.c_str(), inputs, {}), inputs).outputs;
      EXPECT_TRUE(std::isnan(out[0][0])) << op;
      EXPECT_TRUE(std::isfinite(out[0][1])) << op;
    }
  }
}

TEST(Updates, RejectBadRequests) {
  const Values one = {1};
  EXPECT_THROW(make("adam", {one, one, one, one, one}, {}), Error);
  EXPECT_THROW(make("adam", {one, {1, 2}, one, one, one, one}, {}), Error) << "the step is one number";
  EXPECT_THROW(make("adam", {one, one, one, one, one, one}, {{"beta1", 1.0}}), Error);
  EXPECT_THROW(make("adam", {one, one, one, one, one, one}, {{"epsilon", -1.0}}), Error);
  EXPECT_THROW(make("adagrad", {one, one, one}, {}), Error);
  EXPECT_THROW(make("adadelta", {one, one, one, one, one}, {{"rho", -0.1}}), Error);
  EXPECT_THROW(make("rmsprop", {one, one, one, one}, {{"momentum", 0.9}}), Error);
  EXPECT_THROW(make("rmsprop", {one, one, one, one}, {{"l2", -1.0}}), Error);
}

}  // namespace updates_test
}  // namespace headroom::testing
