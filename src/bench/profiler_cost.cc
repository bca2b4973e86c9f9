#include "bench/profiler_cost.h"

#include <algorithm>
#include <cmath>

#include "bench/random_batch.h"
#include "machine/timing.h"
#include "profile/counter_recorder.h"
#include "profile/gpu_counting.h"
#include "profile/kernel_tracer.h"
#include "profile/span_recorder.h"

namespace headroom {
namespace {

const SpanName kBenchBatchSpan{"batch iteration"};

// Attaching takes some 30 ms, so blocks of one mode come in groups; the groups take turns.
constexpr std::int64_t kGroup = 10;
constexpr double kBlockSeconds = 5e-3;

class ProfilerBench {
 public:
  ProfilerBench(Device& device, Engine& engine, const ProfilerCostRequest& request, ProfilerCost& cost)
      : device_(device),
        engine_(engine),
        train_(engine.ready(Mode::train, request.batch)),
        data_(device, train_.program, request.batch),
        spans_(train_.plan()),
        request_(request),
        cost_(cost) {
    engine_.set_learning_rate(1e-6);  // random labels: nothing to learn, and the loss cannot diverge
    try {
      tracer_ = make_kernel_tracer(device);
      if (tracer_ == nullptr) cost_.why_no_trace = "a CPU has no kernels to trace";
    } catch (const Error& error) {
      cost_.why_no_trace = error.what();
    }
  }

  void run(const std::function<void(int, int)>& progress) {
    choose_block();
    group(ProfilerMode::never, request_.blocks);
    const int rounds = static_cast<int>((request_.blocks + kGroup - 1) / kGroup);
    for (int round = 0; round < rounds; ++round) {
      progress(round, rounds);
      for (const ProfilerMode mode : {ProfilerMode::off, ProfilerMode::spans, ProfilerMode::trace,
                                      ProfilerMode::nvtx, ProfilerMode::after})
        group(mode, kGroup);
    }
  }

 private:
  void step(Recorders recorders) {
    const Span span(kBenchBatchSpan, SpanKind::batch);
    if (engine_.queues())
      engine_.queue_step(train_, data_.image(0), data_.label(0), ++step_, recorders);
    else
      engine_.train_step(train_, data_.image(0), data_.label(0), ++step_, recorders);
  }

  double block(Recorders recorders) {
    const double begin = now_s();
    for (std::int64_t i = 0; i < cost_.steps_per_block; ++i) step(recorders);
    device_.stream().synchronize();
    return now_s() - begin;
  }

  void choose_block() {
    cost_.steps_per_block = 1;
    for (int i = 0; i < 5; ++i) block({});  // warm up: captures, first touches
    const double one = std::max(block({}), 1e-6);
    cost_.steps_per_block = std::max<std::int64_t>(1, std::llround(kBlockSeconds / one));
  }

  void group(ProfilerMode mode, std::int64_t blocks) {
    const bool recorded =
        mode == ProfilerMode::spans || mode == ProfilerMode::trace || mode == ProfilerMode::nvtx;
    const bool traced = mode == ProfilerMode::trace || (mode == ProfilerMode::nvtx && tracer_ != nullptr);
    if (mode == ProfilerMode::trace && tracer_ == nullptr) return;
    if (mode == ProfilerMode::nvtx && !spans::has_nvtx()) return;
    if (recorded) spans::start(mode == ProfilerMode::nvtx);
    if (traced) tracer_->start();
    std::vector<Recorder*> recorders;
    if (traced) recorders.push_back(tracer_.get());
    if (recorded && !engine_.queues()) recorders.push_back(&spans_);
    for (int i = 0; i < 2; ++i) block(recorders);  // another list of recorders: another capture
    auto& samples = cost_.block_s[static_cast<std::size_t>(mode)];
    for (std::int64_t i = 0; i < blocks; ++i) samples.push_back(block(recorders));
    Trace trace;
    if (traced) tracer_->stop(trace, spans::now_ns(), 0);
    if (recorded) spans::stop();
  }

  Device& device_;
  Engine& engine_;
  Engine::Ready& train_;
  RandomBatch data_;
  SpanRecorder spans_;
  std::unique_ptr<KernelTracer> tracer_;
  const ProfilerCostRequest& request_;
  ProfilerCost& cost_;
  std::int64_t step_ = 0;
};

std::unique_ptr<StepCounts> seed_counts(Device& device, const Plan& plan) {
  if (device.kind() != DeviceKind::cpu) return make_gpu_counts(device, plan, gpu_counters_named("seed"));
  return std::make_unique<CounterRecorder>(cpu_counters_named("seed"), plan.steps.size());
}

}  // namespace

std::string_view name_of(ProfilerMode mode) {
  constexpr std::array<std::string_view, kProfilerModes> names = {
      "before the first", "off", "spans", "spans + trace", "spans + trace + NVTX", "after stop"};
  return names[static_cast<std::size_t>(mode)];
}

Spread ProfilerCost::step_s(ProfilerMode mode) const {
  std::vector<double> each = block_s[static_cast<std::size_t>(mode)];
  for (double& seconds : each) seconds /= double(steps_per_block);
  return spread_of(each);
}

double ProfilerCost::cost(ProfilerMode mode) const {
  const ProfilerMode base = mode == ProfilerMode::off ? ProfilerMode::never : ProfilerMode::off;
  return step_s(mode).median / step_s(base).median - 1;
}

ProfilerCost measure_profiler(Device& device, const EngineOptions& options, const Net& net,
                              const ProfilerCostRequest& request,
                              const std::function<void(int, int)>& progress) {
  require_random_batch(net);
  Engine engine(net, device, options);
  ProfilerCost cost{.model = net.name, .batch = request.batch};
  ProfilerBench(device, engine, request, cost).run(progress);
  return cost;
}

CountingCost measure_counting(Device& device, const EngineOptions& options, const Net& net,
                              std::int64_t batch) {
  require_random_batch(net);
  Engine engine(net, device, options);
  Engine::Ready& train = engine.ready(Mode::train, batch);
  RandomBatch data(device, train.program, batch);
  engine.set_learning_rate(1e-6);
  const std::unique_ptr<StepCounts> counts = seed_counts(device, train.plan());
  std::vector<Recorder*> recorders = {counts.get()};
  std::int64_t step = 0;
  const auto run = [&] { engine.train_step(train, data.image(0), data.label(0), ++step, recorders); };
  run();                               // warm up
  constexpr std::int64_t kSteps = 10;  // where every step counts everything
  CountingCost cost{.steps = counts->runs() > 0 ? counts->runs() : kSteps};
  const double begin = now_s();
  counts->open();
  for (std::int64_t i = 0; i < cost.steps; ++i) run();
  counts->close();
  cost.step_s = (now_s() - begin) / double(cost.steps);
  counts->release();
  cost.notes = counts->notes();
  return cost;
}

}  // namespace headroom
