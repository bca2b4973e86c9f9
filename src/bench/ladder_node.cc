#include "bench/ladder_node.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "base/random.h"
#include "base/spans.h"
#include "base/units.h"
#include "bench/host_memory.h"
#include "machine/timing.h"
#include "ops/cpu/parallel.h"
#include "ops/operator.h"
#include "plan/tuner.h"
#include "profile/gpu_counting.h"
#include "profile/gpu_occupancy.h"
#include "profile/kernel_tracer.h"

namespace headroom {
namespace {

template <class T>
void draw_normal(const Philox& random, std::int64_t count, T* to) {
  parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = static_cast<T>(random.normal(static_cast<std::uint64_t>(i)));
  });
}

void draw_normal_16bit(DType dtype, const Philox& random, std::int64_t count, std::uint16_t* to) {
  parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = half_bits(dtype, random.normal(static_cast<std::uint64_t>(i)));
  });
}

HostTensor random_tensor(const TensorType& type, const Philox& random) {
  HostTensor tensor{type, std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))};
  const std::int64_t count = type.shape.numel();
  if (is_16bit(type.dtype))
    draw_normal_16bit(type.dtype, random, count, reinterpret_cast<std::uint16_t*>(tensor.bytes.data()));
  else
    dispatch_float(type.dtype,
                   [&]<class T>() { draw_normal(random, count, reinterpret_cast<T*>(tensor.bytes.data())); });
  return tensor;
}

Chooser always(const NodeSpec& spec) {
  return [&spec](const Problem&, const Target&) {
    return Choice{.kernel = spec.kernel, .why = "a rung", .refused = {}, .variant = spec.variant};
  };
}

}  // namespace

void HostTensor::read(std::int64_t begin, std::int64_t count, double* to) const {
  if (is_16bit(type.dtype)) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(bytes.data()) + begin;
    for (std::int64_t i = 0; i < count; ++i) to[i] = half_value(type.dtype, from[i]);
    return;
  }
  dispatch_float(type.dtype, [&]<class T>() {
    const T* from = reinterpret_cast<const T*>(bytes.data()) + begin;
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
  });
}

Problem ladder_problem(const std::string& op, const LadderProblem& problem) {
  return {.op = op,
          .inputs = problem.inputs,
          .outputs = operator_of(op).schema.infer(problem.inputs, problem.attrs),
          .attrs = problem.attrs};
}

double ladder_memory(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return usable_host_bytes() / 2;
  return std::min(usable_bytes(device), usable_host_bytes());
}

void require_memory(const Device& device, const std::string& name, double bytes, Hint hint) {
  const double fits = ladder_memory(device);
  if (bytes <= fits) return;
  reject(std::move(hint), "{}: the tensors take {}, and at most {} fit into the free memory of {}", name,
         human_bytes(bytes), human_bytes(fits),
         device.kind() == DeviceKind::cpu ? "this host, which also keeps a copy of them"
                                          : "the GPU and the host");
}

LadderInputs::LadderInputs(Device& device, const Problem& problem, std::uint64_t seed) {
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    host.push_back(random_tensor(problem.inputs[i], Philox(seed, stream_of(0x1add, i))));
    buffers.push_back(device.allocate(host[i].bytes.size()));
    device.upload(buffers[i].data(), host[i].bytes.data(), host[i].bytes.size());
  }
}

LadderNode::LadderNode(Device& device, const NodeSpec& spec, const std::vector<Buffer>& inputs)
    : device_(device), storage_(device), arena_(device) {
  Graph graph;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(graph.add_value(
        {.name = fmt::format("x{}", i), .type = spec.problem.inputs[i], .role = Role::input}));
  graph.outputs = graph.add_node(spec.problem.op, values, spec.problem.attrs, spec.problem.op);
  Plan plan = plan_operators(graph, spec.problem.outputs[0].dtype, spec.target, always(spec));
  // A library's algorithms are raced, as in the engine; a rung of our own that names no variant is the plain
  // one.
  TuningTable table;  // of this process alone: a ladder measures, it does not teach the engine
  if (spec.kernel->vendor) Tuner(device, table).tune(plan);
  executor_ = std::make_unique<Executor>(plan, storage_, arena_);
  for (std::size_t i = 0; i < inputs.size(); ++i) executor_->bind(values[i], inputs[i].data());
}

double LadderNode::run_poisoned() {
  constexpr std::size_t kChunk = std::size_t{16} << 20;
  const std::vector<std::byte> nan(std::min(kChunk, arena_.bytes()), std::byte{0xFF});
  if (!nan.empty()) device_.upload(arena_.data(), nan.data(), nan.size());
  for (std::size_t at = kChunk; at < arena_.bytes(); at += kChunk)  // within the device: that is faster
    device_.copy(arena_.data() + at, arena_.data(), std::min(kChunk, arena_.bytes() - at));
  device_.stream().synchronize();
  const double begin = now_s();
  executor_->run();
  device_.stream().synchronize();
  return now_s() - begin;
}

std::vector<HostTensor> LadderNode::outputs() const {
  std::vector<HostTensor> list;
  for (const ValueId id : plan().graph.outputs) {
    const TensorType type = plan().graph.value(id).type;
    list.push_back({type, std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))});
    device_.download(list.back().bytes.data(), executor_->data(id), list.back().bytes.size());
  }
  return list;
}

std::optional<RungLaunch> LadderNode::trace_launch(std::string& why_not) {
  Trace trace;
  try {
    const auto tracer = make_kernel_tracer(device_);
    if (tracer == nullptr) return {};
    tracer->start();
    Recorder* const recorders[] = {tracer.get()};
    executor_->run(recorders);
    tracer->stop(trace, spans::now_ns(), 0);
  } catch (const Error& error) {
    why_not = error.what();
    return {};
  }
  const auto longest = std::ranges::max_element(trace.kernels, {}, &Trace::Kernel::seconds);
  if (longest == trace.kernels.end()) return {};
  RungLaunch launch{.kernel = trace.text(longest->name),
                    .registers = longest->registers,
                    .shared_bytes = longest->static_shared + longest->dynamic_shared,
                    .limiter = {}};
  if (const auto limits = sm_limits(device_.capabilities().compute_capability)) {
    const KernelOccupancy occupancy = occupancy_of(*longest, *limits);
    launch.occupancy_percent = occupancy.percent;
    launch.limiter = occupancy.limiter;
  }
  return launch;
}

std::optional<CountedWork> LadderNode::count(const std::vector<std::string>& counters,
                                             std::vector<std::string>& notes) {
  const CountedRun runs[] = {{&step(), [this] { executor_->run(); }}};
  const auto counts = make_gpu_counts(device_, plan_of_runs(runs), counters);
  std::vector<CountedWork> counted = count_runs(*counts, device_.stream(), runs);
  notes = counts->notes();
  return counts->refused() ? std::nullopt : std::optional(std::move(counted.front()));
}

// A GPU runs short kernels many times in one captured launch: the table shows the time of the device, not
// that of starting it.
Sampled LadderNode::sample(double once, double seconds) {
  constexpr double kLaunchSeconds = 1e-3, kSampleSeconds = 0.02;
  constexpr int kFewest = 5, kMaxInLaunch = 200;
  if (device_.kind() != DeviceKind::cpu && once < seconds) {  // the first run also loaded the code
    device_.stream().synchronize();
    const double begin = now_s();
    executor_->run();
    device_.stream().synchronize();
    once = std::min(once, now_s() - begin);
  }
  once = std::max(once, 1e-7);
  const int in_launch = device_.kind() == DeviceKind::cpu
                            ? 1
                            : static_cast<int>(std::clamp(kLaunchSeconds / once, 1.0, double(kMaxInLaunch)));
  std::shared_ptr<Captured> captured;
  if (in_launch > 1)
    captured = device_.capture([&] {
      for (int i = 0; i < in_launch; ++i) executor_->run();
    });
  const TimedBody body = [&](int repeats) -> std::vector<double> {
    device_.stream().synchronize();
    const double begin = now_s();
    for (int i = 0; i < repeats; ++i) {
      if (captured != nullptr)
        captured->launch();
      else
        for (int run = 0; run < in_launch; ++run) executor_->run();
    }
    device_.stream().synchronize();
    return {(now_s() - begin) / in_launch};
  };
  const double turn = once * in_launch;
  const int repeats = static_cast<int>(std::clamp(kSampleSeconds / turn, 1.0, 1e5));
  const auto fewest = static_cast<int>(std::clamp(seconds / (turn * repeats), 1.0, double(kFewest)));
  return sample_in_turn({.warm_ups = fewest > 1 ? 1 : 0,
                         .min_samples = fewest,
                         .max_samples = 100,
                         .max_seconds = seconds / in_launch,
                         .repeats = repeats},
                        {body})
      .front();
}

Sampled LadderNode::sample_zeroed(double once, double seconds) {
  constexpr double kFewest = 5;
  const TimedBody body = [&](int repeats) -> std::vector<double> {
    double sum = 0;
    for (int i = 0; i < repeats; ++i) {
      for (const ValueId id : plan().graph.outputs)
        device_.zero(const_cast<void*>(executor_->data(id)),
                     static_cast<std::size_t>(plan().graph.value(id).type.bytes()));
      device_.stream().synchronize();
      const double begin = now_s();
      executor_->run();
      device_.stream().synchronize();
      sum += now_s() - begin;
    }
    return {sum};
  };
  const auto fewest = static_cast<int>(std::clamp(seconds / std::max(once, 1e-7), 1.0, kFewest));
  return sample_in_turn({.warm_ups = fewest > 1 ? 1 : 0,
                         .min_samples = fewest,
                         .max_samples = 100,
                         .max_seconds = seconds,
                         .repeats = 1},
                        {body})
      .front();
}

}  // namespace headroom
