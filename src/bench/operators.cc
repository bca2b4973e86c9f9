#include "bench/operators.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "bench/operator_node.h"
#include "ops/cpu/parallel.h"
#include "ops/operator.h"
#include "predict/predict.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

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
        OperatorNode node(device, op, grown_for(device.kind(), c), DType::f32, device.capabilities(), choose,
                          true);
        bench.timings.push_back(time_case(device, node.executor(), machine, rounds));
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
