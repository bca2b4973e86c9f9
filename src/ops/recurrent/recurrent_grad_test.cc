// What the common tests of operators leave out: gradients that come from the last states, lengths against
// shorter sequences, and threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "base/random.h"
#include "graph/autodiff.h"
#include "ops/recurrent/recurrent.h"
#include "ops/testing/graph_run.h"

namespace headroom {
namespace recurrent_grad_test {

using testing::Values;

constexpr const char* kOps[] = {"lstm", "gru", "rnn"};

Values random_values(const TensorType& type, std::uint64_t seed) {
  Values values(static_cast<std::size_t>(type.shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = Philox(seed).normal(i);
  return values;
}

// The sum of the chosen outputs, each weighted by random numbers, as a graph.
struct Weighted {
  Graph graph;
  std::vector<ValueId> inputs;
  ValueId loss = kNone;
  std::map<ValueId, Values> known;

  Weighted(const Operator& op, const Case& c, const std::vector<std::size_t>& chosen) {
    const Problem problem = testing::problem_of(op, c, DType::f64);
    const std::vector<Values> values = testing::inputs_of(problem, c, testing::Numbers::normal, 31);
    for (std::size_t i = 0; i < problem.inputs.size(); ++i)
      inputs.push_back(add(problem.inputs[i], values[i]));
    const std::vector<ValueId> outputs = graph.add_node(op.schema.name, inputs, problem.attrs, "tested");
    for (const std::size_t i : chosen) {
      const TensorType type = graph.value(outputs[i]).type;
      const ValueId weighted =
          graph.add_node("mul", {outputs[i], add(type, random_values(type, 90 + i))}, {}, "w").at(0);
      const ValueId sum = graph.add_node("reduce_sum", {weighted}, {}, "s").at(0);
      loss = loss == kNone ? sum : graph.add_node("add", {loss, sum}, {}, "l").at(0);
    }
  }

  double at(const std::map<ValueId, Values>& values) const {
    return testing::interpret(graph, values).at(loss)[0];
  }

 private:
  ValueId add(const TensorType& type, Values values) {
    const ValueId id =
        graph.add_value({.name = "in", .type = type, .role = Role::input, .init = {}, .layer = {}});
    known[id] = std::move(values);
    return id;
  }
};

void expect_gradients(const Weighted& forward) {
  Graph graph = forward.graph;
  std::vector<ValueId> wanted;
  for (const ValueId id : forward.inputs)
    if (is_float(graph.value(id).type.dtype)) wanted.push_back(id);
  const auto gradients = differentiate(graph, forward.loss, wanted);
  const auto analytic = testing::interpret(graph, forward.known);
  for (const ValueId id : wanted) {
    const Values& gradient = analytic.at(gradients.at(id));
    for (std::size_t i = 0; i < gradient.size(); i += std::max<std::size_t>(1, gradient.size() / 7)) {
      constexpr double kStep = 1e-6;
      auto moved = forward.known;
      moved[id][i] += kStep;
      const double above = forward.at(moved);
      moved[id][i] -= 2 * kStep;
      const double numeric = (above - forward.at(moved)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], numeric, 1e-5 * std::max(1.0, std::abs(numeric))) << "input " << id;
    }
  }
}

TEST(RecurrentGrad, LastStatesPassTheirGradientsOn) {
  for (const char* name : kOps) {
    const Operator& op = operator_of(name);
    const std::size_t outputs = op.schema.name == "lstm" ? 3 : 2;
    for (const Case& c : op.cases) {
      if (c.tier != Tier::ci || c.attrs.has("saves")) continue;
      SCOPED_TRACE(testing::problem_of(op, c, DType::f64).str());
      expect_gradients(Weighted(op, c, {outputs - 1}));
      expect_gradients(outputs == 3 ? Weighted(op, c, {0, 1, 2}) : Weighted(op, c, {0, 1}));
    }
  }
}

// A batch of two lengths is two batches.
TEST(RecurrentGrad, LengthsAreThoseOfShorterSequences) {
  for (const char* name : kOps)
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      SCOPED_TRACE(fmt::format("{} {}", name, direction));
      const std::int64_t gates = name == kOps[0] ? 4 : name == kOps[1] ? 3 : 1, hidden = 3, input = 2;
      const std::int64_t dirs = direction == std::string("bidirectional") ? 2 : 1;
      const bool lstm = gates == 4;
      const auto run = [&](const Kernel& kernel, std::int64_t seq, std::vector<std::int64_t> lengths) {
        const auto batch = static_cast<std::int64_t>(lengths.size());
        Problem p{.op = name,
                  .inputs = {{{seq, batch, input}, DType::f64},
                             {{dirs, gates * hidden, input}, DType::f64},
                             {{dirs, gates * hidden, hidden}, DType::f64}},
                  .outputs = {},
                  .attrs = {{"hidden_size", hidden},
                            {"direction", std::string(direction)},
                            {"initial", std::int64_t{1}},
                            {"lengths", std::int64_t{1}}}};
        for (int i = 0; i < (lstm ? 2 : 1); ++i) p.inputs.push_back({{dirs, batch, hidden}, DType::f64});
        std::vector<Values> in;
        for (std::size_t i = 0; i < p.inputs.size(); ++i) {
          in.push_back(random_values(p.inputs[i], 40 + i));
          // The same numbers for each item of any batch.
          if (i == 0)
            for (std::int64_t k = 0; k < seq * batch * input; ++k)
              in[0][std::size_t(k)] = std::sin(double(k / batch / input * 7 + k % input));
          if (i > 2) std::fill(in[i].begin(), in[i].end(), 0.3);
        }
        p.inputs.push_back({{batch}, DType::i64});
        in.emplace_back(lengths.begin(), lengths.end());
        p.outputs = schema_of(name).infer(p.inputs, p.attrs);
        return testing::run_kernel(kernel, p, in).outputs;
      };
      for (const Kernel& kernel : testing::kernels_here(operator_of(name))) {
        const auto both = run(kernel, 5, {5, 3}), longer = run(kernel, 5, {5}), shorter = run(kernel, 3, {3});
        for (std::int64_t d = 0; d < dirs; ++d)
          for (std::int64_t j = 0; j < hidden; ++j) {
            for (std::int64_t t = 0; t < 5; ++t) {
              const auto at = [&](std::int64_t items, std::int64_t item) {
                return static_cast<std::size_t>(((t * dirs + d) * items + item) * hidden + j);
              };
              EXPECT_NEAR(both[0][at(2, 0)], longer[0][at(1, 0)], 1e-14);
              EXPECT_NEAR(both[0][at(2, 1)], t < 3 ? shorter[0][at(1, 0)] : 0.0, 1e-14);
            }
            for (std::size_t state = 1; state < both.size(); ++state)
              EXPECT_NEAR(both[state][std::size_t((d * 2 + 1) * hidden + j)],
                          shorter[state][std::size_t(d * hidden + j)], 1e-14);
          }
      }
    }
}

TEST(RecurrentGrad, BitsDoNotDependOnThreads) {
  const int before = omp_get_max_threads();
  for (const char* name : kOps)
    for (const std::string& op_name : {std::string(name), std::string(name) + "_grad"}) {
      const Operator& op = operator_of(op_name);
      for (const Case& c : op.cases) {
        if (c.tier != Tier::perf || c.inputs[0][1] != 16) continue;
        const Problem p = testing::problem_of(op, c, DType::f32);
        auto in = testing::inputs_of(p, c, testing::Numbers::normal, 3);
        for (double& r : in[2]) r /= 64;  // gradients of long sequences must not overflow
        omp_set_num_threads(1);
        const testing::Run one = testing::run_kernel(testing::cpu_kernel(op), p, in);
        omp_set_num_threads(3);
        const testing::Run three = testing::run_kernel(testing::cpu_kernel(op), p, in);
        for (std::size_t i = 0; i < one.outputs.size(); ++i)
          EXPECT_TRUE(one.outputs[i] == three.outputs[i]) << op_name << ", output " << i;
      }
    }
  omp_set_num_threads(before);
}

TEST(RecurrentGrad, ForwardSavesOnlyForAGradient) {
  const Operator& op = operator_of("gru");
  const Weighted forward(op, op.cases[2], {0});
  EXPECT_FALSE(forward.graph.node(0).attrs.has("saves"));
  Graph graph = forward.graph;
  differentiate(graph, forward.loss, {forward.inputs[1]});
  EXPECT_EQ(graph.node(0).attrs.integer("saves"), 1);
  EXPECT_EQ(graph.node(0).outputs.size(), 3u);
  for (const Node& node : graph.nodes()) EXPECT_FALSE(node.attrs.has("dx"));  // nobody wants it
}

TEST(RecurrentGrad, RejectsBadRequests) {
  const OpSchema& schema = schema_of("lstm_grad");
  const Attrs attrs{{"hidden_size", std::int64_t{5}}, {"saves", std::int64_t{1}}, {"dy", std::int64_t{1}}};
  const std::vector<TensorType> good = {{{7, 2, 3}},    {{1, 20, 3}},    {{1, 20, 5}},
                                        {{7, 1, 2, 5}}, {{1, 7, 2, 25}}, {{7, 1, 2, 5}}};
  EXPECT_NO_THROW(schema.infer(good, attrs));
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = {{7, 2, 9}};
    EXPECT_THROW(schema.infer(bad, attrs), Error) << i;
    bad = good, bad.pop_back();
    EXPECT_THROW(schema.infer(bad, attrs), Error);
  }
  EXPECT_THROW(schema.infer(good, {{"hidden_size", std::int64_t{5}}}), Error);
  EXPECT_THROW(schema_of("rnn").infer({{{7, 2, 3}}, {{1, 5, 3}}, {{1, 5, 5}}},
                                      {{"hidden_size", std::int64_t{5}}, {"saves", std::int64_t{1}}}),
               Error);
  EXPECT_THROW(schema_of("rnn").infer({{{7, 2, 3}}, {{1, 5, 3}}, {{1, 5, 5}}, {{3}, DType::i32}},
                                      {{"hidden_size", std::int64_t{5}}, {"lengths", std::int64_t{1}}}),
               Error);
}

}  // namespace recurrent_grad_test
}  // namespace headroom
