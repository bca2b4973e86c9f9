// One graph with every operator compared with PyTorch's numbers in fp64: forward values, running statistics
// and the gradient of every leaf, with the planned kernels and with the references. Also dropout, whose
// random numbers no other framework reproduces.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/json.h"
#include "golden/operators_graph.h"
#include "ops/operator.h"
#include "passes/passes.h"
#include "plan/executor.h"

namespace headroom::testing {
namespace {

constexpr double kOperatorTolerance = 1e-9;

Choice by_reference(const Problem& problem, const Target&) {
  return {&operator_of(problem.op).kernels.back(), "the definition", {}};
}

// A graph with its device, memory and plan, in fp64.
class Runner {
 public:
  Runner(const Graph& graph, const Chooser& choose)
      : device_(open_device("cpu")), storage_(*device_), arena_(*device_) {
    storage_.prepare(graph, 1);
    executor_ = std::make_unique<Executor>(
        make_plan(graph, {Mode::train, 2, DType::f64, device_->capabilities()}, choose), storage_, arena_);
  }
  void write(const std::string& name, const std::vector<double>& values) {
    storage_.write(name, values.data(), values.size() * sizeof(double));
  }
  std::vector<double> stored(const std::string& name) const {
    std::vector<double> values(static_cast<std::size_t>(storage_.type(name).shape.numel()));
    storage_.read(name, values.data(), values.size() * sizeof(double));
    return values;
  }
  Executor& executor() { return *executor_; }

 private:
  std::unique_ptr<Device> device_;
  Storage storage_;
  Arena arena_;
  std::unique_ptr<Executor> executor_;
};

struct GoldenOperators : ::testing::Test {
  // Numbers of the n-th leaf.
  std::vector<double> numbers(std::uint64_t n, const Json& leaf) const {
    const Shape shape(leaf.at("shape").get<std::vector<std::int64_t>>());
    std::vector<double> values(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = golden_value(n, i) * leaf.at("scale").get<double>() + leaf.at("offset").get<double>();
    return values;
  }

  void expect_golden(OperatorsGraph built, const Chooser& choose, bool fused) {
    for (const auto& [name, digest] : golden_.at("values").items())
      built.graph.outputs.push_back(built.values.at(name));
    for (const auto& [value, gradient] : built.gradients) built.graph.outputs.push_back(gradient);
    if (fused) fuse(built.graph), drop_unused(built.graph);
    Runner runner(built.graph, choose);
    std::uint64_t n = 0;
    std::vector<double> x;
    for (const auto& [name, leaf] : golden_.at("leaves").items()) {
      if (name == "x")
        x = numbers(n++, leaf);
      else
        runner.write(name, numbers(n++, leaf));
    }
    runner.write("step", {1});
    const std::vector<std::int32_t> tokens = golden_.at("tokens");
    std::vector<std::int32_t> mask;
    for (int i = 0; i < 25; ++i) mask.push_back(i % 5 <= i / 5 ? 1 : 0);
    Executor& run = runner.executor();
    run.bind(built.values.at("x"), x.data());
    run.bind(built.tokens, tokens.data());
    run.bind(built.mask, mask.data());
    run.run();

    for (const auto& [name, digest] : golden_.at("values").items())
      EXPECT_EQ(compare_digest(digest, run.read(built.values.at(name)), kOperatorTolerance), "") << name;
    for (const auto& [name, digest] : golden_.at("gradients").items()) {
      const auto gradient = built.gradients.find(built.values.at(name));
      ASSERT_NE(gradient, built.gradients.end()) << "no gradient of " << name;
      EXPECT_EQ(compare_digest(digest, run.read(gradient->second), kOperatorTolerance), "")
          << "gradient of " << name;
    }
    for (const auto& [name, want] : golden_.at("statistics").items()) {
      const std::vector<double> got = runner.stored(name);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want.at(i).get<double>(), 1e-14) << name << " " << i;
    }
  }

  const Json golden_ = golden_json("operators");
};

TEST_F(GoldenOperators, PlannedKernels) { expect_golden(OperatorsGraph(golden_), first_that_accepts, false); }

TEST_F(GoldenOperators, PlannedKernelsAfterThePasses) {
  expect_golden(OperatorsGraph(golden_), first_that_accepts, true);
}

TEST_F(GoldenOperators, References) { expect_golden(OperatorsGraph(golden_), by_reference, false); }

TEST_F(GoldenOperators, EveryOperatorOfTheListIsThere) {
  const OperatorsGraph built(golden_);
  std::set<std::string> found;
  for (const Node& node : built.graph.nodes()) {
    if (node.phase != Phase::forward) continue;
    found.insert(node.op);
    for (const char* form : {"mode", "approximate", "to"})
      if (node.attrs.has(form)) found.insert(node.op + " " + node.attrs.text(form));
  }
  for (const char* op : {"log_softmax",
                         "squared_error",
                         "mul",
                         "sub",
                         "div",
                         "pow",
                         "exp",
                         "sqrt",
                         "leaky_relu",
                         "elu",
                         "gelu",
                         "gelu tanh",
                         "erf",
                         "clip",
                         "hard_swish",
                         "dropout",
                         "batch_norm",
                         "batch_norm_inference",
                         "layer_norm",
                         "lrn",
                         "concat",
                         "split",
                         "slice",
                         "pad",
                         "pad reflect",
                         "pad edge",
                         "transpose",
                         "gather",
                         "where",
                         "cast fp32",
                         "cast fp64",
                         "cast bool",
                         "reduce_sum",
                         "reduce_mean",
                         "reduce_max",
                         "global_avg_pool",
                         "global_max_pool",
                         "adaptive_avg_pool",
                         "adaptive_max_pool",
                         "matmul",
                         "resize nearest",
                         "resize bilinear",
                         "softmax",
                         "conv2d",
                         "linear"})
    EXPECT_TRUE(found.count(op)) << op;
}

// The gradient of a weighted sum of dropout(x) is the weights times the factor of each element.
TEST(GoldenDropout, DropsItsShareAndItsGradientTheSameElements) {
  constexpr double kRate = 0.3;
  constexpr std::size_t kCount = 40'000;
  Graph g;
  auto leaf = [&](const char* name, TensorType type, Role role) {
    return g.add_value(
        {.name = name, .type = type, .role = role, .producer = kNone, .init = {}, .layer = {}});
  };
  const TensorType type{{Shape{100, 400}}, DType::f64};
  const ValueId x = leaf("x", type, Role::input), w = leaf("w", type, Role::input);
  const ValueId step = leaf("step", {{1}, DType::f64}, Role::scalar);
  const ValueId y =
      g.add_node("dropout", {x, step}, {{"rate", kRate}, {"seed", std::int64_t{5}}}, "drop").at(0);
  const ValueId sum = g.add_node("reduce_sum", {g.add_node("mul", {y, w}, {}, "sum").at(0)}, {}, "sum").at(0);
  const ValueId dx = differentiate(g, sum, {x}).at(x);
  g.outputs = {y, dx};

  std::vector<double> xs, ws;
  for (std::size_t i = 0; i < kCount; ++i)
    xs.push_back(golden_value(0, i) + 2), ws.push_back(golden_value(1, i) + 2);
  Runner runner(g, first_that_accepts);
  Executor& run = runner.executor();
  run.bind(x, xs.data());
  run.bind(w, ws.data());
  std::vector<std::vector<bool>> masks;
  for (double number : {1.0, 2.0, 1.0}) {
    runner.write("step", {number});
    run.run();
    const std::vector<double> ys = run.read(y), dxs = run.read(dx);
    std::vector<bool> dropped(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      dropped[i] = ys[i] == 0;
      ASSERT_NEAR(ys[i], dropped[i] ? 0 : xs[i] / (1 - kRate), 1e-14) << i;
      ASSERT_NEAR(dxs[i], dropped[i] ? 0 : ws[i] / (1 - kRate), 1e-14) << i;
    }
    const auto count = static_cast<double>(std::ranges::count(dropped, true));
    const double deviation = std::sqrt(kCount * kRate * (1 - kRate));
    EXPECT_NEAR(count, kCount * kRate, 4 * deviation);
    masks.push_back(dropped);
  }
  EXPECT_NE(masks[0], masks[1]) << "each step drops others";
  EXPECT_EQ(masks[0], masks[2]) << "and always the same";
}

}  // namespace
}  // namespace headroom::testing
