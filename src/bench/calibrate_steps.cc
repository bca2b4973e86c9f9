#include "bench/calibrate_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

// Of a probe's step, at half of the machine's peak, and the share of that in the smallest probes.
struct ProbeLength {
  double seconds, smallest;
};
constexpr ProbeLength kOnCpus{0.05, 0.003}, kOnGpus{0.01, 5e-4};
constexpr std::int64_t kMaxBatch = 4096;
constexpr double kMaxOverrun = 4;  // times the time asked for, where a busy machine takes few timings

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
  const ProbeLength& length = machine.kind == "cpu" ? kOnCpus : kOnGpus;
  const double wanted =
      std::pow(length.smallest, 1 - probe.size) * length.seconds * 0.5 * vector_peak(machine, DType::f32);
  const double batch = std::max(1.0, 2 * wanted / std::max(1.0, flops_of(one)));
  const double memory = 0.1 * machine.memory().bytes, need = std::max(1.0, memory_need(one).total() / 2);
  const std::int64_t fitting =
      std::clamp<std::int64_t>(std::llround(std::min(batch, memory / need)), 1, kMaxBatch);
  return probe.round_batch && fitting > 16 ? fitting / 16 * 16 : fitting;
}

// One mode of a probe that is ready to run.
struct ReadyRun {
  Mode mode;
  std::int64_t batch;
  Engine::Ready* ready;
  std::shared_ptr<const RandomBatch> data;  // modes of one batch share it
  double whole = 0, alone = 0;              // seconds
};
// A network stays on the device until its steps are timed.
struct HeldProbe {
  std::unique_ptr<Engine> engine;
  std::vector<ReadyRun> runs;
};

class Probes {
 public:
  Probes(Device& device, const Machine& machine) : device_(device), machine_(machine) {
    try {
      tracer_ = make_kernel_tracer(device);
    } catch (const Error&) {
      // It is timed by events, which count the start of each step in.
    }
  }

  // Whole runs of both modes now, their steps now or with those of the next probes.
  void time(const Probe& probe, const EngineOptions& options) {
    HeldProbe held{std::make_unique<Engine>(probe.net, device_, options), {}};
    Engine& engine = *held.engine;
    for (const Mode mode : {Mode::train, Mode::eval}) {
      const std::int64_t batch = batch_for(engine, probe, mode, machine_);
      held.runs.push_back({mode, batch, &engine.ready(mode, batch), nullptr});
    }
    engine.set_learning_rate(1e-6);  // the weights hardly change
    for (ReadyRun& run : held.runs) {
      const ReadyRun& first = held.runs.front();
      run.data = first.data && first.batch == run.batch
                     ? first.data
                     : std::make_shared<const RandomBatch>(device_, run.ready->program, run.batch);
      time_whole(engine, run);
    }
    held_.push_back(std::move(held));
    const bool full = double(device_.free_bytes_now()) < kFreeShare * machine_.memory().bytes;
    if (tracer_ == nullptr || full || held_.size() == kTracedTogether) time_steps();
  }

  // The steps of all that wait for it.
  void time_steps() {
    const std::vector<HeldProbe> held = std::exchange(held_, {});
    if (held.empty()) return;
    tracer_ != nullptr ? trace_steps(held) : clock_steps(held);
  }

  bool empty() const { return runs.empty() && held_.empty(); }

  std::vector<StepRow> rows;
  std::vector<RunRow> runs;

 private:
  static constexpr int kTracedRuns = 5;
  // Attaching the tracer, and detaching it, takes longer than all runs of a probe.
  static constexpr std::size_t kTracedTogether = 8;
  static constexpr double kFreeShare = 0.7;
  // Of one sample of short runs, which follow one another.
  static constexpr double kQueuedSeconds = 0.002, kShortSeconds = 0.001;
  static constexpr double kSettled = 0.01;  // noise of a median that needs no more samples

  static void step(Engine& engine, const ReadyRun& run, Recorders recorders = {}) {
    const void* images = run.data->image(0);
    const std::int32_t* labels = run.data->label(0);
    if (run.mode != Mode::train)
      engine.run_batch(*run.ready, images, labels, recorders);
    else if (engine.queues())
      engine.queue_step(*run.ready, images, labels, 1, recorders);
    else
      engine.train_step(*run.ready, images, labels, 1, recorders);
  }

  void time_whole(Engine& engine, ReadyRun& run) {
    const bool queues = engine.queues();
    SamplerOptions options{.warm_ups = 2,
                           .min_samples = queues ? 3 : 5,
                           .max_samples = 9,
                           .max_seconds = queues ? 0.1 : 0.4,
                           .min_sample_seconds = queues ? kQueuedSeconds : kShortSeconds,
                           .noise = queues ? kSettled : 0};
    run.whole = sample(device_, options, [&] { step(engine, run); }).median;
    if (!queues || run.whole > kShortSeconds) return;
    options.min_sample_seconds = 0, options.max_samples = 15, options.min_samples = 7;
    run.alone = sample(device_, options, [&] { step(engine, run); }).median;
  }

  // Each step by itself.
  void clock_steps(const std::vector<HeldProbe>& probes) {
    for (const HeldProbe& held : probes)
      for (const ReadyRun& run : held.runs) {
        const int repeats = static_cast<int>(std::clamp(kShortSeconds / run.whole, 5.0, 51.0));
        StepTimer timer(device_, run.ready->plan().steps.size(), static_cast<std::size_t>(repeats));
        Recorder* const recorders[] = {&timer};
        for (int i = 0; i < repeats; ++i) step(*held.engine, run, recorders);
        add(run, timer.measurement());
      }
  }

  // Kernels of captured steps, all in one trace with a window for each run.
  void trace_steps(const std::vector<HeldProbe>& probes) {
    const std::int64_t origin = spans::now_ns();
    std::vector<Trace::Window> windows;
    Trace trace;
    tracer_->start();
    try {
      for (const HeldProbe& held : probes)
        for (const ReadyRun& run : held.runs) windows.push_back(traced(*held.engine, run, origin));
    } catch (const Error&) {
      tracer_->stop(trace, origin, 0);
      throw;
    }
    tracer_->stop(trace, origin, 0);
    auto window = windows.begin();
    for (const HeldProbe& held : probes)
      for (const ReadyRun& run : held.runs) {
        trace.windows = {*window++};
        add(run, measured_steps(trace, run.ready->plan().steps.size()));
      }
  }

  Trace::Window traced(Engine& engine, const ReadyRun& run, std::int64_t origin) {
    Recorder* const recorders[] = {tracer_.get()};
    for (int i = 0; i < 2; ++i) step(engine, run, recorders);  // captures
    device_.stream().synchronize();
    Trace::Window window;
    window.begin_ns = spans::now_ns() - origin;
    for (int i = 0; i < kTracedRuns; ++i) step(engine, run, recorders);
    device_.stream().synchronize();
    window.end_ns = spans::now_ns() - origin, window.steps = kTracedRuns, window.captured = true;
    return window;
  }

  void add(const ReadyRun& timed, const Measurement& measurement) {
    const Plan& plan = timed.ready->plan();
    const int run = static_cast<int>(runs.size());
    runs.push_back({run, timed.whole, timed.alone});
    const double own = measurement.source == Measurement::Source::wall_clock ? timer_overhead_seconds() : 0;
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
      rows.push_back({amounts_of(plan.steps[s], machine_, plan.binding.target),
                      std::max(1e-8, measurement.median_s(s) - own), run, plan.steps[s].stream,
                      plan.steps[s].waits});
  }

  Device& device_;
  const Machine& machine_;
  std::unique_ptr<KernelTracer> tracer_;  // null: none
  std::vector<HeldProbe> held_;
};

}  // namespace

// Each round of the precisions begins with the next one: else those that draw networks of as many kinds as
// there are precisions would have each kind in one of them.
EngineOptions probe_options(const CalibrateOptions& options, std::uint64_t number) {
  const std::uint64_t count = options.engines.size(), round = number / count;
  EngineOptions engine = options.engines[(number + round) % count];
  if (round % options.rivals_every == options.rivals_every - 1) engine.choose = any_rival(number);
  return engine;
}

StepCalibration calibrate_steps(Device& device, const Machine& machine, const CalibrateOptions& options,
                                const std::function<void(double, const std::string&)>& progress) {
  Probes probes(device, machine);
  ProbeTurns turns(machine.kind != "cpu");
  const double begin = now_s();
  const auto passed = [&] { return (now_s() - begin) / options.seconds; };
  const auto goes_on = [&] { return passed() < (probes.rows.size() < kMinStepRows ? kMaxOverrun : 1); };
  // A library that cannot run one of them is no reason to lose the others.
  const auto go_on_after = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const Error&) {
      if (probes.empty()) throw;
      device.clear_error();
    }
  };
  while (goes_on()) {
    const double before = now_s();
    const ProbeTurns::Turn turn = turns.next();
    if (progress) progress(std::min(1.0, passed()), turn.probe.net.name);
    go_on_after([&] { probes.time(turn.probe, probe_options(options, turn.number)); });
    turns.took(now_s() - before);
  }
  go_on_after([&] { probes.time_steps(); });
  StepCalibration calibration = fit_steps(std::move(probes.rows), std::move(probes.runs));
  calibration.machine = machine.name, calibration.title = machine.title, calibration.cores = machine.cores;
  calibration.libraries = device.capabilities().libraries;
  return calibration;
}

}  // namespace headroom
