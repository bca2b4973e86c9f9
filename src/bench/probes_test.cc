#include "bench/probes.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/calibrate_steps.h"
#include "train/build.h"

namespace headroom {
namespace {

// Every probe is a network that can be trained, and together they have steps of many kinds.
TEST(Probes, AllCanBeBuilt) {
  const auto device = open_device("cpu");
  std::set<std::string> ops;
  for (std::uint64_t number = 0; number < 60; ++number) {
    const Probe probe = draw_probe(number);
    const Target target = target_of(device->capabilities(), {});
    const Plan plan = build(probe.net, build_request({}, target, Mode::train, 2)).plan;
    for (const Step& step : plan.steps) ops.insert(step.problem.op);
  }
  for (const char* op : {"linear", "conv2d", "conv2d_grad_input", "conv2d_grad_weight", "batch_norm",
                         "max_pool", "attention", "layer_norm", "concat", "lrn", "dropout", "sgd"})
    EXPECT_TRUE(ops.contains(op)) << op;
}

TEST(Probes, SmallOnesHaveLittleToDo) {
  const auto device = open_device("cpu");
  std::set<std::int64_t> batches;
  for (std::uint64_t number = 0; number < 60; ++number) {
    const Probe probe = draw_small_probe(number);
    ASSERT_GT(probe.batch, 0);
    batches.insert(probe.batch);
    const Target target = target_of(device->capabilities(), {});
    const Plan plan = build(probe.net, build_request({}, target, Mode::train, probe.batch)).plan;
    double flops = 0;
    for (const Step& step : plan.steps) flops += step.work.flops();
    EXPECT_LT(flops, number % 8 < 6 ? 5e10 : 1e12) << probe.net.name;
    EXPECT_LE(probe.batch, number % 8 < 6 ? 4096 : 8);
  }
  EXPECT_TRUE(batches.contains(1));
  EXPECT_GT(batches.size(), 5u);
}

// Each kind has its share of the time, whatever its probes take; layers are for GPUs.
TEST(Probes, TurnsShareTheTime) {
  for (const bool gpu : {false, true}) {
    ProbeTurns turns(gpu);
    std::map<std::string, double> seconds;
    double all = 0;
    for (int turn = 0; turn < 400; ++turn) {
      const std::string net = turns.next().probe.net.name;
      const bool small = net.find("small") != std::string::npos;
      const bool layer = net.find("layers") != std::string::npos ||
                         net.find("convolution") != std::string::npos ||
                         net.find("grouped") != std::string::npos;
      const double took = small ? 0.01 : layer ? 0.02 : 0.3;
      seconds[layer ? "layer" : "other"] += took, all += took;
      turns.took(took);
    }
    EXPECT_NEAR(seconds["layer"] / all, gpu ? 0.7 : 0, 0.05);
  }
}

TEST(Probes, TheSameNumberIsTheSameNetwork) {
  EXPECT_EQ(to_json_text(draw_probe(7).net), to_json_text(draw_probe(7).net));
  EXPECT_NE(to_json_text(draw_probe(7).net), to_json_text(draw_probe(17).net));
}

}  // namespace
}  // namespace headroom
