#include "bench/operators.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "base/text.h"
#include "ops/cpu/parallel.h"
#include "ops/operator.h"
#include "ops/stored.h"
#include "plan/executor.h"
#include "plan/tuner.h"
#include "predict/predict.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

TensorType type_of(const Case& c, std::size_t i) {
  const bool whole = i < c.fills.size() && c.fills[i].kind == Fill::Kind::label;
  DType dtype = whole ? DType::i32 : DType::f32;
  if (i < c.dtypes.size() && c.dtypes[i]) dtype = *c.dtypes[i];
  return {c.inputs[i], dtype, i < c.layouts.size() ? c.layouts[i] : Layout::nchw};
}

double element(const Fill& fill, const Philox& random, std::uint64_t i) {
  switch (fill.kind) {
    case Fill::Kind::constant:
      return fill.value;
    case Fill::Kind::positive:
      return 0.05 + random.uniform(i);
    case Fill::Kind::normal:
      return random.normal(i);
    default:
      return double(random.below(i, static_cast<std::uint64_t>(std::max(1.0, fill.value))));
  }
}

// A GPU's cache would hold the largest CPU cases, so their vectors grow to 400 MB there.
Case grown(Case c, const Device& device) {
  constexpr std::int64_t kLargest = 1 << 22, kGrown = 100'000'000;
  if (device.kind() == DeviceKind::cpu) return c;
  for (Shape& shape : c.inputs)
    if (shape == Shape{kLargest}) shape = Shape{kGrown};
  return c;
}

// A graph of one node over inputs that the caller owns.
class Alone {
 public:
  Alone(const Operator& op, const Case& c, Device& device, const Chooser& choose)
      : device_(device), storage_(device), arena_(device) {
    Graph graph;
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      inputs.push_back(
          graph.add_value({.name = fmt::format("x{}", i), .type = type_of(c, i), .role = Role::input}));
      buffers_.push_back(device.allocate(static_cast<std::size_t>(graph.value(inputs[i]).type.bytes())));
      fill(c, i, graph.value(inputs[i]).type);
    }
    graph.outputs = graph.add_node(op.schema.name, inputs, c.attrs, op.schema.name);
    Plan plan = plan_operators(graph, DType::f32, device.capabilities(), choose);
    TuningTable table;
    Tuner(device, table).tune(plan);
    executor_ = std::make_unique<Executor>(plan, storage_, arena_);
    for (std::size_t i = 0; i < inputs.size(); ++i) executor_->bind(inputs[i], buffers_[i].data());
  }

  Executor& executor() { return *executor_; }

 private:
  // Random numbers for the first part, then repeated: drawing a hundred million would take too long.
  void fill(const Case& c, std::size_t i, const TensorType& type) {
    const std::int64_t stretch = device_.kind() == DeviceKind::cpu ? 1 << 22 : 1 << 18;
    const Fill how = i < c.fills.size() ? c.fills[i] : Fill{};
    const Philox random(11, i + 1);
    const std::int64_t count = type.shape.numel(), drawn = std::min(count, stretch);
    const std::size_t size = size_of(type.dtype);
    dispatch_stored(type.dtype, [&]<class T>() {
      std::vector<T> values(static_cast<std::size_t>(drawn));
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(element(how, random, k));
      for (std::int64_t at = 0; at < count; at += drawn)
        device_.upload(static_cast<T*>(buffers_[i].data()) + at, values.data(),
                       size * static_cast<std::size_t>(std::min(drawn, count - at)));
    });
  }

  Device& device_;
  Storage storage_;
  Arena arena_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Executor> executor_;
};

// The cost of the same traffic without computation.
class Copy {
 public:
  Copy(Device& device, double bytes)
      : device_(device),
        bytes_(static_cast<std::size_t>(bytes / 2) + 1),
        from_(device.allocate(bytes_)),
        to_(device.allocate(bytes_)) {
    device_.zero(from_.data(), bytes_);
    device_.zero(to_.data(), bytes_);
  }
  void run() {
    if (device_.kind() != DeviceKind::cpu) return device_.copy(to_.data(), from_.data(), bytes_);
    auto *to = static_cast<char*>(to_.data()), *from = static_cast<char*>(from_.data());
    parallel_for(static_cast<std::int64_t>(bytes_), 1 << 16, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  }

 private:
  Device& device_;
  std::size_t bytes_;
  Buffer from_, to_;
};

OperatorTiming time_case(Device& device, Executor& executor, const Machine& machine, int rounds) {
  const Step& step = executor.plan().steps.at(0);
  const Prediction prediction = predict(executor.plan(), machine, time_model_for(machine));
  const Machine::Level& level = machine.level_for(step.cost.bytes());
  OperatorTiming t{.problem = step.problem,
                   .kernel = std::string(step.kernel->name),
                   .seconds = {},
                   .flops = step.cost.flops(),
                   .bytes = step.cost.bytes(),
                   .floor_s = prediction.steps[0].floor_s,
                   .predicted = predicted_run(prediction),
                   .bound = prediction.steps[0].bound,
                   .level = level.name,
                   .level_rate = level.bytes_per_s};
  Copy copy(device, t.bytes);
  const auto timed = sample_in_turn(
      {.warm_ups = 1, .min_samples = rounds, .max_samples = rounds, .min_sample_seconds = 0.02},
      {timed_on(device, [&] { executor.run(); }), timed_on(device, [&] { copy.run(); })});
  t.seconds = timed[0], t.copy_seconds = timed[1];
  return t;
}

}  // namespace

OperatorBench bench_operators(Device& device, const Machine& machine, const Chooser& choose,
                              const std::vector<std::string>& names, int rounds,
                              const std::function<void(const std::string&)>& progress) {
  for (const std::string& name : names) operator_of(name);  // rejects unknown names before the work starts
  OperatorBench bench;
  for (const Operator& op : operators()) {
    if (!names.empty() && std::ranges::find(names, op.schema.name) == names.end()) continue;
    if (op.kernels.empty() || op.schema.is_view) continue;
    for (const Case& c : op.cases) {
      if (c.tier != Tier::perf) continue;
      progress(op.schema.name);
      try {
        Alone alone(op, grown(c, device), device, choose);
        bench.timings.push_back(time_case(device, alone.executor(), machine, rounds));
      } catch (const Error& error) {  // one case must not cost the others' results
        bench.left_out.push_back(fmt::format("{}: {}", op.schema.name, error.what()));
      }
    }
  }
  if (bench.timings.empty() && !bench.left_out.empty())
    reject("nothing was timed: {}", bench.left_out.front());
  return bench;
}

}  // namespace headroom
