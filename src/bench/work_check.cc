#include "bench/work_check.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "bench/host_memory.h"
#include "bench/operator_node.h"
#include "profile/gpu_counting.h"

#ifdef HEADROOM_HAS_CUDA
#include "profile/cuda/device_facts.h"
#endif

namespace headroom {
namespace {

struct Precision {
  const char* name;
  DType dtype;
  bool tf32;
};
constexpr Precision kPrecisions[] = {{"fp32", DType::f32, false},
                                     {"tf32", DType::f32, true},
                                     {"fp64", DType::f64, false},
                                     {"fp16", DType::f16, false},
                                     {"bf16", DType::bf16, false}};

double size_of_work(const Cost& cost) { return cost.flops() + cost.bytes(); }

// tf32 changes products alone.
bool concerns(const Precision& precision, const Cost& cost) {
  return !precision.tf32 || cost.multiply_add > 0;
}

std::optional<WorkCase> largest_case(const Operator& op, const Kernel& kernel, const Precision& precision,
                                     const Capabilities& gpu, CaseSize size) {
  std::optional<WorkCase> best;
  double most = -1;
  const Target target(gpu, {.tf32 = precision.tf32});
  for (const Case& known : op.cases) {
    if (size == CaseSize::small && known.tier == Tier::perf) continue;
    Case c = grown_for(gpu.kind, known);
    Problem problem{
        .op = op.schema.name, .inputs = input_types(op, c, precision.dtype), .outputs = {}, .attrs = c.attrs};
    problem.outputs = op.schema.infer(problem.inputs, problem.attrs);
    const Cost cost = op.schema.cost(problem);
    if (size_of_work(cost) <= most || !concerns(precision, cost)) continue;
    if (!accepts(kernel, problem, target).ok) continue;
    most = size_of_work(cost);
    best = {&op, &kernel, std::move(c), std::move(problem), target, precision.dtype, precision.name};
  }
  return best;
}

std::string case_name(const WorkCase& c) {
  return fmt::format("{} by {} in {}", c.problem.str(), c.kernel->name, c.precision);
}

// As many as one window of counters takes; more cost CUPTI more than a second window does.
constexpr std::size_t kMaxTogether = 100;

double bytes_of(const Problem& problem) {
  double sum = 0;
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list) sum += double(type.bytes());
  return sum;
}

class WorkCounting {
 public:
  explicit WorkCounting(Device& gpu)
      : gpu_(gpu), room_(usable_bytes(gpu) / 4), counters_(operation_counters()) {
    counters_.insert(counters_.end(), {"l2-sectors", "dram-read", "dram-write"});
#ifdef HEADROOM_HAS_CUDA
    check_.tolerance.l2_capacity = double(describe_gpu(gpu).l2_bytes);
#endif
  }

  bool full() const { return nodes_.size() >= kMaxTogether || bytes_ >= room_; }

  // Runs it once, which loads its code. One that fails must not cost the others' counters.
  void add(const WorkCase& c) {
    const auto choose = [&c](const Problem&, const Target&) {
      return Choice{.kernel = c.kernel, .why = "to be counted", .refused = {}};
    };
    try {
      auto node = std::make_unique<OperatorNode>(gpu_, *c.op, c.of, c.dtype, c.target, choose, false);
      node->executor().run();
      gpu_.stream().synchronize();
      nodes_.push_back(std::move(node)), cases_.push_back(&c);
      bytes_ += bytes_of(c.problem);
    } catch (const Error& error) {
      gpu_.clear_error();
      check_.left_out.push_back(fmt::format("{}: {}", case_name(c), error.what()));
    }
  }

  void count() {
    if (nodes_.empty()) return;
    std::vector<CountedRun> runs;
    for (const auto& node : nodes_) runs.push_back({&node->step(), [&node] { node->executor().run(); }});
    const auto counts = make_gpu_counts(gpu_, plan_of_runs(runs), counters_);
    std::vector<CountedWork> counted = count_runs(*counts, gpu_.stream(), runs);
    if (counts->refused()) check_.why_not = counts->notes().front();
    for (const std::string& note : counts->notes())
      if (std::ranges::find(check_.notes, note) == check_.notes.end()) check_.notes.push_back(note);
    for (std::size_t i = 0; i < runs.size(); ++i)
      check_.rows.push_back({.problem = cases_[i]->problem,
                             .kernel = std::string(cases_[i]->kernel->name),
                             .precision = cases_[i]->precision,
                             .cost = runs[i].step->cost,
                             .work = runs[i].step->work,
                             .counted = std::move(counted[i])});
    nodes_.clear(), cases_.clear(), bytes_ = 0;
  }

  bool refused() const { return !check_.why_not.empty(); }
  WorkCheck finish() { return std::move(check_); }

 private:
  Device& gpu_;
  double room_;  // for the tensors of a window
  std::vector<std::string> counters_;
  std::vector<std::unique_ptr<OperatorNode>> nodes_;
  std::vector<const WorkCase*> cases_;
  double bytes_ = 0;
  WorkCheck check_;
};

bool is_off(const std::optional<double>& counted, double own, double tolerance) {
  return counted && std::abs(*counted - own) > tolerance * own;
}

}  // namespace

std::vector<WorkCase> work_cases(const Capabilities& gpu, const std::vector<std::string>& operators_named,
                                 CaseSize size) {
  for (const std::string& name : operators_named) operator_of(name);
  std::vector<WorkCase> list;
  for (const Operator& op : operators()) {
    if (!operators_named.empty() &&
        std::ranges::find(operators_named, op.schema.name) == operators_named.end())
      continue;
    if (op.schema.is_view || op.schema.collective) continue;
    for (const Kernel& kernel : op.kernels) {
      if (kernel.device != DeviceKind::cuda || kernel.vendor) continue;
      for (const Precision& precision : kPrecisions)
        if (auto c = largest_case(op, kernel, precision, gpu, size)) list.push_back(std::move(*c));
    }
  }
  return list;
}

WorkCheck check_work(Device& gpu, const std::vector<WorkCase>& cases,
                     const std::function<void(const std::string&)>& progress) {
  WorkCounting counting(gpu);
  for (const WorkCase& c : cases) {
    progress(fmt::format("{} {}", c.problem.op, c.kernel->name));
    counting.add(c);
    if (counting.full()) counting.count();
    if (counting.refused()) return counting.finish();
  }
  counting.count();
  return counting.finish();
}

WorkVerdict judge(const WorkRow& row, const WorkTolerance& tolerance) {
  constexpr double kProducts = 0.9, kLeastBytes = 1e6, kCaches = 4;
  WorkVerdict verdict;
  if (row.cost.multiply_add >= kProducts * row.cost.flops() && row.cost.multiply_add > 0)
    verdict.flops = is_off(row.counted.flops(), executed_flops(row.work), tolerance.flops);
  if (l2_bytes(row.work) >= kLeastBytes)
    verdict.l2 = is_off(row.counted.l2_bytes(), l2_bytes(row.work), tolerance.bytes);
  if (tolerance.l2_capacity > 0 && bytes_of(row.problem) > kCaches * tolerance.l2_capacity)
    verdict.dram = is_off(row.counted.dram_bytes(), row.work.bytes(), tolerance.bytes);
  return verdict;
}

}  // namespace headroom
