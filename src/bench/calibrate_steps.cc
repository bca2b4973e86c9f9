#include "bench/calibrate_steps.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bench/probes.h"
#include "bench/random_batch.h"
#include "bench/sampler.h"
#include "machine/timing.h"
#include "plan/memory_need.h"
#include "profile/step_timer.h"
#include "timing/choose.h"

namespace headroom {
namespace {

constexpr double kUsualSeconds = 0.05;  // of a probe's step, at half of the machine's peak
constexpr std::int64_t kMaxBatch = 4096;

double flops_of(const Plan& plan) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += step.work.flops();
  return sum;
}

// A batch for which a step has about this much to do, and which fits into the memory.
std::int64_t batch_for(const Engine& engine, const Probe& probe, Mode mode, const Machine& machine) {
  const auto plan_at = [&](std::int64_t batch) {
    return build(probe.net, build_request(engine.options(), engine.target(), mode, batch)).plan;
  };
  const Plan one = plan_at(2);
  const double wanted = probe.share * kUsualSeconds * 0.5 * vector_peak(machine, DType::f32);
  const double batch = std::max(1.0, 2 * wanted / std::max(1.0, flops_of(one)));
  const double memory = 0.1 * machine.memory().bytes, need = std::max(1.0, memory_need(one).total() / 2);
  return std::clamp<std::int64_t>(std::llround(std::min(batch, memory / need)), 1, kMaxBatch);
}

class Probes {
 public:
  Probes(Device& device, const Machine& machine, const CalibrateOptions& options)
      : device_(device), machine_(machine), options_(options) {}

  // One run of a probe: whole runs first, then step by step.
  void time(const Probe& probe, Mode mode) {
    EngineOptions engine_options = options_.engine;
    // Every third run has kernels that are not the first of their list.
    if (runs.size() % 3 == 2) engine_options.choose = any_rival(runs.size());
    Engine engine(probe.net, device_, engine_options);
    const std::int64_t batch = batch_for(engine, probe, mode, machine_);
    Engine::Ready& ready = engine.ready(mode, batch);
    if (mode == Mode::train) engine.set_learning_rate(1e-6);  // the weights hardly change
    const RandomBatch data(device_, ready.program, batch);
    const auto step = [&](Recorders recorders) {
      if (mode != Mode::train)
        engine.run_batch(ready, data.image(0), data.label(0), recorders);
      else if (engine.queues())
        engine.queue_step(ready, data.image(0), data.label(0), 1, recorders);
      else
        engine.train_step(ready, data.image(0), data.label(0), 1, recorders);
    };
    const Sampled whole = sample(
        device_, {.warm_ups = 2, .min_samples = 5, .max_samples = 9, .max_seconds = 0.4}, [&] { step({}); });
    constexpr std::size_t kRuns = 5;
    StepTimer timer(device_, ready.plan().steps.size(), kRuns);
    Recorder* const recorders[] = {&timer};
    for (std::size_t i = 0; i < kRuns; ++i) step(recorders);
    add(ready.plan(), timer.measurement(), whole.median);
  }

  std::vector<StepRow> rows;
  std::vector<RunRow> runs;

 private:
  void add(const Plan& plan, const Measurement& measurement, double whole_s) {
    const int run = static_cast<int>(runs.size());
    runs.push_back({run, whole_s});
    const double own = measurement.source == Measurement::Source::wall_clock ? timer_overhead_seconds() : 0;
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
      rows.push_back({amounts_of(plan.steps[s], machine_, plan.binding.target),
                      std::max(1e-8, measurement.median_s(s) - own), run});
  }

  Device& device_;
  const Machine& machine_;
  const CalibrateOptions& options_;
};

}  // namespace

StepCalibration calibrate_steps(Device& device, const Machine& machine, const CalibrateOptions& options,
                                const std::function<void(double, const std::string&)>& progress) {
  Probes probes(device, machine, options);
  const double begin = now_s();
  const auto passed = [&] { return (now_s() - begin) / options.seconds; };
  for (std::uint64_t number = 0; passed() < 1; ++number) {
    const Probe probe = draw_probe(number);
    if (progress) progress(passed(), probe.net.name);
    for (const Mode mode : {Mode::train, Mode::eval}) {
      if (passed() >= 1) break;
      probes.time(probe, mode);
    }
  }
  StepCalibration calibration = fit_steps(std::move(probes.rows), std::move(probes.runs));
  calibration.machine = machine.name, calibration.title = machine.title, calibration.cores = machine.cores;
  calibration.libraries = device.capabilities().libraries;
  return calibration;
}

}  // namespace headroom
