// Whether the probes of a calibration know the kernels that networks spend their time in, without a GPU.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/calibrate_steps.h"
#include "bench/probes.h"
#include "machine/machine.h"
#include "models/zoo.h"
#include "timing/step_model.h"
#include "train/forecast_parts.h"

namespace headroom {
namespace {

// What an H200 finished in 50 s.
constexpr std::uint64_t kFinishedLayers = 160, kFinishedSmall = 40;
constexpr double kLargeShare = 0.1;
// Of a kind, and of its kernel and operator in any precision, which share what a formula leaves over.
constexpr std::size_t kMinOfKind = 3, kMinOfKernel = 8;

CalibrateOptions usual_turns() {
  CalibrateOptions options;
  options.engines.resize(3), options.rivals_every = 6;
  options.engines[1].precision = DType::bf16, options.engines[2].tf32 = true;
  return options;
}

using Plans = std::vector<Plan>;
Plans plans_of(const Net& net, const EngineOptions& engine, std::int64_t batch, std::vector<Mode> modes) {
  static const Machine machine = find_machine("h200");
  Plans plans;
  for (const Mode mode : modes)
    plans.push_back(build(net, reading_request(net, machine, engine, mode, batch, 0, {})).plan);
  return plans;
}

// The probes that time a kind, and those that time its kernel and operator.
std::map<std::string, std::set<std::string>> probes_by_kind() {
  const Machine machine = find_machine("h200");
  const CalibrateOptions options = usual_turns();
  std::map<std::string, std::set<std::string>> timed;
  const auto add = [&](const Probe& probe, std::uint64_t number) {
    for (const Plan& plan :
         plans_of(probe.net, probe_options(options, number), probe.batch, {Mode::train, Mode::eval}))
      for (const Step& step : plan.steps) {
        const std::string kind = amounts_of(step, machine, plan.binding.target).kind;
        timed[kind].insert(probe.net.name), timed[any_precision(kind)].insert(probe.net.name);
      }
  };
  for (std::uint64_t number = 0; number < kFinishedLayers; ++number) add(draw_layer_probe(number), number);
  for (std::uint64_t number = 0; number < kFinishedSmall; ++number) add(draw_small_probe(number), number);
  return timed;
}

// The share of each kind in the predicted time of a plan.
std::map<std::string, double> shares_in(const Plan& plan) {
  const Machine machine = find_machine("h200");
  const TimeModel& model = default_time_model(machine);
  std::map<std::string, double> shares;
  double whole = 0;
  for (const Step& step : plan.steps) {
    const double seconds = model.time(step, machine, plan.binding.target).seconds;
    shares[amounts_of(step, machine, plan.binding.target).kind] += seconds, whole += seconds;
  }
  for (auto& [kind, share] : shares) share /= whole;
  return shares;
}

TEST(ProbeCoverage, KernelsThatNetworksSpendTheirTimeInAreTimed) {
  const std::map<std::string, std::set<std::string>> timed = probes_by_kind();
  const auto count = [&](const std::string& kind) {
    const auto it = timed.find(kind);
    return it == timed.end() ? 0 : it->second.size();
  };
  struct Example {
    const char* name;
    std::int64_t batch;
    std::vector<Mode> modes = {Mode::infer, Mode::train};
  };
  const Example nets[] = {{"mlp:hidden=512", 512},
                          {"mlp:hidden=64", 3200, {Mode::train}},
                          {"mlp:hidden=100", 800, {Mode::train}},
                          {"lenet5", 256},
                          {"ece408", 1000},
                          {"alexnet", 64},
                          {"vgg:depth=11", 32},
                          {"googlenet", 64},
                          {"resnet:depth=50", 64}};
  std::size_t checked = 0;
  for (const auto& [name, batch, modes] : nets)
    for (const EngineOptions& engine : usual_turns().engines)
      for (const Plan& plan : plans_of(find_net(name), engine, batch, modes))
        for (const auto& [kind, share] : shares_in(plan)) {
          if (share < kLargeShare) continue;
          checked += 1;
          EXPECT_GE(count(kind), kMinOfKind) << kind << " in " << name << ", " << share << " of its time";
          EXPECT_GE(count(any_precision(kind)), kMinOfKernel) << kind << " in " << name;
        }
  EXPECT_GT(checked, 80u);
}

// Two plans that measurements of an H200 found slow: many channels, and in 16 bit and tf32 more than a few.
TEST(ProbeCoverage, ConvolutionsOfManyChannelsDoNotPool) {
  for (const EngineOptions& engine : usual_turns().engines)
    for (const Plan& plan : plans_of(find_net("vgg:depth=11"), engine, 32, {Mode::infer}))
      for (const Step& step : plan.steps) EXPECT_NE(step.problem.op, "conv2d_block") << step.problem.str();
}

}  // namespace
}  // namespace headroom
