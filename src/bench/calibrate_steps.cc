#include "bench/calibrate_steps.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bench/probes.h"
#include "bench/random_batch.h"
#include "bench/sampler.h"
#include "machine/timing.h"
#include "plan/memory_need.h"
#include "profile/kernel_tracer.h"
#include "profile/profiler.h"
#include "profile/step_timer.h"
#include "timing/choose.h"

namespace headroom {
namespace {

constexpr double kUsualSeconds = 0.05;  // of a probe's step, at half of the machine's peak
constexpr double kSmallestOnCpus = 0.003, kSmallestOnGpus = 1e-4;  // share of that in the smallest probes
constexpr std::int64_t kMaxBatch = 4096;
constexpr double kSmallShare = 0.25;  // of the time, for probes of one or a few images
constexpr double kMaxOverrun = 4;     // times the time asked for, where a busy machine takes few timings

double flops_of(const Plan& plan) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += step.work.flops();
  return sum;
}

// A batch for which a step has about this much to do, and which fits into the memory.
std::int64_t batch_for(const Engine& engine, const Probe& probe, Mode mode, const Machine& machine) {
  if (probe.batch > 0) return probe.batch;
  const auto plan_at = [&](std::int64_t batch) {
    return build(probe.net, build_request(engine.options(), engine.target(), mode, batch)).plan;
  };
  const Plan one = plan_at(2);
  const double smallest = machine.kind == "cpu" ? kSmallestOnCpus : kSmallestOnGpus;
  const double wanted =
      std::pow(smallest, 1 - probe.size) * kUsualSeconds * 0.5 * vector_peak(machine, DType::f32);
  const double batch = std::max(1.0, 2 * wanted / std::max(1.0, flops_of(one)));
  const double memory = 0.1 * machine.memory().bytes, need = std::max(1.0, memory_need(one).total() / 2);
  const std::int64_t fitting =
      std::clamp<std::int64_t>(std::llround(std::min(batch, memory / need)), 1, kMaxBatch);
  return probe.round_batch && fitting > 16 ? fitting / 16 * 16 : fitting;
}

class Probes {
 public:
  Probes(Device& device, const Machine& machine) : device_(device), machine_(machine) {
    try {
      tracer_ = make_kernel_tracer(device);
    } catch (const Error&) {
      // It is timed by events, which count the start of each step in.
    }
  }

  // One run of a probe: whole runs first, then step by step.
  void time(const Probe& probe, Mode mode, EngineOptions engine_options) {
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
    const Sampled whole = sample(device_,
                                 {.warm_ups = 2,
                                  .min_samples = 5,
                                  .max_samples = 9,
                                  .max_seconds = 0.4,
                                  .min_sample_seconds = engine.queues() ? kQueuedSeconds : kShortSeconds},
                                 [&] { step({}); });
    const int repeats = static_cast<int>(std::clamp(kShortSeconds / whole.median, 5.0, 51.0));
    add(ready.plan(), time_steps(ready.plan().steps.size(), repeats, step), whole.median);
  }

  std::vector<StepRow> rows;
  std::vector<RunRow> runs;

 private:
  static constexpr int kTracedRuns = 5;
  // Of one sample of short runs, which follow one another.
  static constexpr double kQueuedSeconds = 0.005, kShortSeconds = 0.001;

  // Kernels of a captured step, if the device can be traced; else each step by itself.
  Measurement time_steps(std::size_t steps, int repeats, const std::function<void(Recorders)>& step) {
    if (tracer_ == nullptr) {
      StepTimer timer(device_, steps, static_cast<std::size_t>(repeats));
      Recorder* const recorders[] = {&timer};
      for (int i = 0; i < repeats; ++i) step(recorders);
      return timer.measurement();
    }
    const std::int64_t origin = spans::now_ns();
    tracer_->start();
    Recorder* const recorders[] = {tracer_.get()};
    for (int i = 0; i < 2; ++i) step(recorders);  // captures
    device_.stream().synchronize();
    Trace::Window window;
    window.begin_ns = spans::now_ns() - origin;
    for (int i = 0; i < kTracedRuns; ++i) step(recorders);
    device_.stream().synchronize();
    window.end_ns = spans::now_ns() - origin, window.steps = kTracedRuns, window.captured = true;
    Trace trace;
    tracer_->stop(trace, origin, 0);
    trace.windows.push_back(window);
    return measured_steps(trace, steps);
  }

  void add(const Plan& plan, const Measurement& measurement, double whole_s) {
    const int run = static_cast<int>(runs.size());
    runs.push_back({run, whole_s});
    const double own = measurement.source == Measurement::Source::wall_clock ? timer_overhead_seconds() : 0;
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
      rows.push_back({amounts_of(plan.steps[s], machine_, plan.binding.target),
                      std::max(1e-8, measurement.median_s(s) - own), run, plan.steps[s].stream,
                      plan.steps[s].waits});
  }

  Device& device_;
  const Machine& machine_;
  std::unique_ptr<KernelTracer> tracer_;  // null: none
};

}  // namespace

StepCalibration calibrate_steps(Device& device, const Machine& machine, const CalibrateOptions& options,
                                const std::function<void(double, const std::string&)>& progress) {
  Probes probes(device, machine);
  const double begin = now_s();
  const auto passed = [&] { return (now_s() - begin) / options.seconds; };
  const auto goes_on = [&] { return passed() < (probes.rows.size() < kMinStepRows ? kMaxOverrun : 1); };
  const auto time = [&](const Probe& probe, std::uint64_t number) {
    if (progress) progress(std::min(1.0, passed()), probe.net.name);
    for (const Mode mode : {Mode::train, Mode::eval})
      if (goes_on()) probes.time(probe, mode, options.engines[number % options.engines.size()]);
  };
  double small = 0;  // share of the time that small probes took
  for (std::uint64_t number = 0, next_small = 0; goes_on(); ++number) {
    time(draw_probe(number), number);
    if (machine.kind != "cpu") time(draw_wide_probe(number), number);
    while (small < kSmallShare * passed() && goes_on()) {
      const double before = passed();
      time(draw_small_probe(next_small), next_small);
      ++next_small;
      small += passed() - before;
    }
  }
  StepCalibration calibration = fit_steps(std::move(probes.rows), std::move(probes.runs));
  calibration.machine = machine.name, calibration.title = machine.title, calibration.cores = machine.cores;
  calibration.libraries = device.capabilities().libraries;
  return calibration;
}

}  // namespace headroom
