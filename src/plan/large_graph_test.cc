// Planning of very large graphs: time and memory must grow linearly with the graph, not with its square.
#include <gtest/gtest.h>
#include <time.h>

#include "base/testing/allocations.h"
#include "device/device.h"
#include "graph/autodiff.h"
#include "plan/plan.h"

namespace headroom {
namespace {

constexpr int kNodes = 10'000;

double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Start {
  Graph graph;
  ValueId x;
};

Start start() {
  Start s;
  s.x = s.graph.add_value({.name = "x", .type = {{4, 16}, DType::f32}, .role = Role::input});
  return s;
}

Graph chain(int nodes) {
  Start s = start();
  ValueId v = s.x;
  for (int i = 0; i < nodes; ++i) v = s.graph.add_node(i % 2 ? "tanh" : "relu", {v}, {}, "layer").at(0);
  s.graph.outputs = {v};
  return s.graph;
}

// Blocks of three nodes; the sum in each block reads the block's input.
Graph ladder(int nodes) {
  Start s = start();
  ValueId v = s.x;
  for (int i = 0; i + 3 <= nodes; i += 3) {
    const ValueId a = s.graph.add_node("tanh", {v}, {}, "layer").at(0);
    const ValueId b = s.graph.add_node("relu", {a}, {}, "layer").at(0);
    v = s.graph.add_node("add", {v, b}, {}, "layer").at(0);
  }
  s.graph.outputs = {v};
  return s.graph;
}

// With its gradient: every activation lives until its backward node, and half of the nodes are backward.
Graph ladder_with_gradient(int nodes) {
  Graph graph = ladder(nodes / 2);
  const ValueId x = 0, y = graph.outputs[0];
  graph.outputs.push_back(differentiate(graph, y, {x}).at(x));
  return graph;
}

struct Spent {
  double seconds = 0;
  double bytes = 0;
  std::size_t steps = 0;
};

Spent plan(const Graph& graph) {
  const Binding binding{Mode::train, 4, DType::f32, cpu_capabilities(1)};
  Graph copy = graph;
  testing::start_counting_allocations();
  const double before = thread_seconds();
  const Plan p = make_plan(std::move(copy), binding);
  const double seconds = thread_seconds() - before;
  testing::stop_counting_allocations();
  return {seconds, static_cast<double>(testing::bytes_counted()), p.steps.size()};
}

// The best of several runs of each, in turn, so that other load on the processor does not count.
std::vector<Spent> plan_in_turn(const std::vector<Graph>& graphs) {
  constexpr int kRuns = 5;
  std::vector<Spent> best(graphs.size(), {.seconds = 1e9});
  for (int run = 0; run < kRuns; ++run)
    for (std::size_t i = 0; i < graphs.size(); ++i)
      if (const Spent spent = plan(graphs[i]); spent.seconds < best[i].seconds) best[i] = spent;
  return best;
}

class TimingLargeGraph : public ::testing::TestWithParam<Graph (*)(int)> {};

TEST_P(TimingLargeGraph, IsPlannedInASecondAndInProportion) {
  const std::vector<Spent> spent = plan_in_turn({GetParam()(kNodes), GetParam()(2 * kNodes)});
  const Spent &once = spent[0], &twice = spent[1];
  EXPECT_NEAR(double(once.steps), kNodes, 0.15 * kNodes);
  EXPECT_NEAR(double(twice.steps), 2.0 * double(once.steps), 0.01 * kNodes);
  EXPECT_LT(once.seconds, 1);
  EXPECT_LT(twice.seconds, 3 * once.seconds) << once.seconds;
  EXPECT_LT(twice.bytes, 2.2 * once.bytes) << once.bytes;
  EXPECT_LT(once.bytes, 1e4 * double(once.steps)) << "a step and its share of everything else";
}

INSTANTIATE_TEST_SUITE_P(
    All, TimingLargeGraph, ::testing::Values(chain, ladder, ladder_with_gradient), [](const auto& test) {
      return std::string(test.index == 0 ? "chain" : test.index == 1 ? "ladder" : "trained");
    });

}  // namespace
}  // namespace headroom
