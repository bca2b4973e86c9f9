#include "bench/layer_energy.h"

#include <algorithm>

#include "ops/operator.h"

namespace headroom {
namespace {

// As one launch that takes some milliseconds, if the device can capture: else the host's launches would be
// measured, too.
class RepeatedSteps {
 public:
  RepeatedSteps(Executor& executor, Device& device, std::vector<std::size_t> steps)
      : executor_(executor), device_(device), steps_(std::move(steps)) {
    run_once();  // first launches load code, which a capture must not see
    device_.stream().synchronize();
    captured_ = device_.capture([&] {
      for (int i = 0; i < kInOne; ++i) executor_.run_steps(steps_);
    });
  }
  void operator()() {
    if (captured_ != nullptr)
      captured_->launch();
    else
      run_once();
    device_.stream().synchronize();
  }
  int in_one() const { return captured_ != nullptr ? kInOne : 1; }

 private:
  static constexpr int kInOne = 20;
  void run_once() { executor_.run_steps(steps_); }
  Executor& executor_;
  Device& device_;
  std::vector<std::size_t> steps_;
  std::unique_ptr<Captured> captured_;
};

double energy_of(Executor& executor, Device& device, EnergyMeter& meter, double seconds,
                 const std::vector<std::size_t>& steps) {
  RepeatedSteps work(executor, device, steps);
  return measure_energy(meter, seconds, [&] { work(); }).joules_each() / work.in_one();
}

}  // namespace

double LayerEnergy::sum_j() const {
  double sum = 0;
  for (const auto& [layer, joules] : layer_j) sum += joules;
  return sum;
}

LayerEnergy measure_layer_energy(Executor& executor, Device& device, EnergyMeter& meter, double seconds) {
  const Plan& plan = executor.plan();
  std::map<std::string, std::vector<std::size_t>> steps_of;  // by the layer with the largest share
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (schema_of(step.problem.op).collective || step.charges.empty()) continue;
    const auto largest = std::ranges::max_element(step.charges, {}, &Charge::share);
    steps_of[largest->layer].push_back(s);
    all.push_back(s);
  }
  LayerEnergy energy{.layer_seconds = seconds};
  {
    RepeatedSteps whole(executor, device, all);
    const MeasuredEnergy measured = measure_energy(meter, 2 * seconds, [&] { whole(); });
    const double runs = double(measured.repeats) * whole.in_one();
    if (runs == 0) return energy;
    energy.run_j = measured.joules / runs, energy.run_s = measured.seconds / runs;
  }
  for (const auto& [layer, steps] : steps_of) {
    const double joules = energy_of(executor, device, meter, seconds, steps);
    double weight = 0;
    for (std::size_t s : steps) weight += plan.steps[s].cost.flops() + plan.steps[s].cost.bytes();
    for (std::size_t s : steps)
      for (const Charge& c : plan.steps[s].charges) {
        const double part = plan.steps[s].cost.flops() + plan.steps[s].cost.bytes();
        energy.layer_j[c.layer] +=
            joules * c.share * (weight > 0 ? part / weight : 1.0 / double(steps.size()));
      }
  }
  return energy;
}

}  // namespace headroom
