// What the kernels themselves could save.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/units.h"
#include "ops/operator.h"
#include "report/findings_search.h"

namespace headroom {
namespace {

std::int64_t finding_blocks(const Trace::Kernel& k) {
  return std::accumulate(k.grid.begin(), k.grid.end(), std::int64_t{1}, std::multiplies());
}

// Mean measured seconds of a step of the plan; 0: unknown.
double finding_step_s(const RunRecord& record, std::size_t s) {
  if (!record.measurement || s >= record.measurement->steps.size()) return 0;
  return record.measurement->steps[s].mean();
}

bool finding_has_readings(const RunRecord& record) {
  return record.plan && record.prediction && record.measurement &&
         record.prediction->steps.size() == record.plan->steps.size();
}

// Steps of the plan that take another time, on a GPU and on a CPU.
ReplayChange finding_changed_steps(const std::vector<double>& factors) {
  const auto factor = [&factors](int step) {
    return step >= 0 && std::size_t(step) < factors.size() ? factors[std::size_t(step)] : 1.0;
  };
  return {.kernel_factor = [factor](const Trace::Kernel& k) { return factor(k.step); },
          .step_factor = [factor](const Trace::Span& span) { return factor(span.step); }};
}

const OpSchema* finding_schema(const std::string& op) {  // a record may know operators that we do not
  for (const Operator& known : operators())
    if (known.schema.name == op) return &known.schema;
  return nullptr;
}

// "64x6x28x28" of "relu 64x6x28x28 fp32"
std::string finding_operand(const std::string& problem) {
  const std::size_t begin = problem.find(' ');
  if (begin == std::string::npos) return {};
  return problem.substr(begin + 1, problem.find_first_of(" ,", begin + 1) - begin - 1);
}

// Two steps that could be one. A record does not say which value a step reads, but an elementwise function of
// one operand, right after another and of the same shape, reads its result.
bool finding_could_fuse(const RunRecord& record, std::size_t s) {
  const RecordedStep &first = record.plan->steps[s], &second = record.plan->steps[s + 1];
  const OpSchema *a = finding_schema(first.op), *b = finding_schema(second.op);
  const auto memory_bound = [&](std::size_t step) {
    return record.prediction->steps[step].bound != "compute";
  };
  return a != nullptr && b != nullptr && a->elementwise > 0 && b->elementwise == 1 && memory_bound(s) &&
         memory_bound(s + 1) && first.phase == second.phase && first.stream == second.stream &&
         !finding_operand(first.problem).empty() &&
         finding_operand(first.problem) == finding_operand(second.problem);
}

}  // namespace

std::optional<Finding> find_small_kernels(const FindingSearch& search) {
  const std::optional<Machine>& machine = search.profile.record.machine;
  if (!machine || machine->kind != "gpu" || machine->cores <= 0) return {};
  double all = 0, small = 0;
  for (const Trace::Kernel& k : search.trace.kernels) {
    if (!search.holds(k, k.lane)) continue;
    all += k.seconds();
    if (!k.whole_graph() && finding_blocks(k) < machine->cores) small += k.seconds();
  }
  constexpr double kMajority = 0.5;
  if (all <= 0 || small < kMajority * all) return {};
  // Multiprocessors that were idle take the new blocks; those that had one do both in twice the time.
  const auto by_blocks = [&](const Trace::Kernel& k) {
    return std::clamp(2.0 * double(finding_blocks(k)) / machine->cores, 1.0, 2.0);
  };
  const double gain = search.doubled_batch_gain_s(by_blocks);
  Finding f = search.finding("small kernels", small / search.parts.steps, gain);
  f.text =
      fmt::format("{:.0f} % of the kernel time is in kernels with fewer blocks than the {} multiprocessors",
                  100 * small / all, machine->cores);
  f.remedy = "a larger `batch`: twice the images for less than twice the time";
  return f;
}

// The gradients of weights and those of activations, one after the other.
std::optional<Finding> find_one_stream(const FindingSearch& search) {
  const RunRecord& record = search.profile.record;
  if (!search.captured || !record.plan || record.plan->streams != 1) return {};
  const std::vector<RecordedStep>& steps = record.plan->steps;
  const auto step_of = [&](const Trace::Kernel& k) {
    return k.step >= 0 && std::size_t(k.step) < steps.size() ? &steps[std::size_t(k.step)] : nullptr;
  };
  // A kernel that fills the device leaves no room for another.
  const std::int64_t room = record.machine && record.machine->cores > 0 ? record.machine->cores : INT64_MAX;
  const auto beside = [&](const Trace::Kernel& k) {
    const RecordedStep* step = step_of(k);
    return step != nullptr && step->could_branch && finding_blocks(k) < room;
  };
  const auto joins = [&](const Trace::Kernel& k) {
    const RecordedStep* step = step_of(k);
    return step != nullptr && step->phase == "update";
  };
  double seconds = 0;
  for (const Trace::Kernel& k : search.trace.kernels)
    if (beside(k) && search.holds(k, k.lane)) seconds += k.seconds() / search.parts.steps;
  if (seconds <= 0) return {};
  Finding f = search.finding("one stream", seconds, search.gain_s({.beside = beside, .joins = joins}));
  f.text = fmt::format(
      "gradients of weights take {} of a step, after those of activations and not beside them; the gain is "
      "an "
      "upper bound, because kernels at the same time slow each other down",
      human_seconds(seconds));
  f.remedy = "`streams` 2";
  return f;
}

namespace {

// Starting and draining a kernel takes this long at any precision.
constexpr double kFindingKernelRamp = 4e-6;

// How much less a compute-bound step would take in tf32. Its products may run on tensor cores already, each
// fp32 factor split into two parts: three products for one.
double finding_tf32_factor(const RecordedStep& step, const Machine& machine, double measured_s) {
  const auto peak = [&](const std::string& unit) {
    const auto it = machine.peak_flops.find(unit);
    return it == machine.peak_flops.end() ? 0.0 : it->second;
  };
  const std::string unit = step.launches.empty() ? "fp32" : step.launches[0].unit;
  const double products = unit == "fp32" ? 1 : 3;
  if (peak(unit) <= 0 || measured_s <= 0) return 1;
  const double ratio = std::min(1.0, peak(unit) / products / peak("tf32"));
  int launches = 0;
  for (const RecordedStep::Launch& launch : step.launches) launches += launch.count;
  const double ramp = std::min(measured_s, kFindingKernelRamp * std::max(1, launches));
  const double memory_s = step.bytes / machine.memory().bytes_per_s;
  return std::min(1.0, std::max(ramp + (measured_s - ramp) * ratio, memory_s) / measured_s);
}

}  // namespace

// Products in fp32 where matrix units could do them.
std::optional<Finding> find_wide_products(const FindingSearch& search) {
  const RunRecord& record = search.profile.record;
  if (!finding_has_readings(record) || !record.machine || record.plan->precision != "fp32") return {};
  const auto& peaks = record.machine->peak_flops;
  const auto vector = peaks.find("fp32"), matrix = peaks.find("tf32");
  if (record.machine->kind != "gpu" || vector == peaks.end() || matrix == peaks.end()) return {};
  std::vector<double> factors(record.plan->steps.size(), 1);
  double seconds = 0;
  for (std::size_t s = 0; s < factors.size(); ++s) {
    const double measured = finding_step_s(record, s);
    if (record.prediction->steps[s].bound != "compute" || measured <= 0) continue;
    factors[s] = finding_tf32_factor(record.plan->steps[s], *record.machine, measured);
    seconds += measured;
  }
  if (seconds <= 0) return {};
  Finding f = search.finding("products in fp32", seconds, search.gain_s(finding_changed_steps(factors)));
  f.text = fmt::format("compute-bound steps take {} in fp32; tensor cores are {:.1f} times as fast in tf32",
                       human_seconds(seconds), matrix->second / vector->second);
  f.remedy = "`precision` tf32, or bf16: fewer digits, so check the accuracy";
  return f;
}

std::optional<Finding> find_fusible_steps(const FindingSearch& search) {
  const RunRecord& record = search.profile.record;
  if (!finding_has_readings(record)) return {};
  std::vector<double> factors(record.plan->steps.size(), 1);
  std::vector<std::string> pairs;
  double seconds = 0;
  for (std::size_t s = 0; s + 1 < factors.size(); ++s) {
    if (!finding_could_fuse(record, s)) continue;
    const RecordedStep &first = record.plan->steps[s], &second = record.plan->steps[s + 1];
    // The backward pass of a training may read the value between them: then it is written all the same.
    const bool kept = record.plan->mode == "train" && first.phase == "forward";
    if (!kept) factors[s] -= 1.0 / (finding_schema(first.op)->elementwise + 1);
    factors[s + 1] -= 0.5;  // one of two tensors
    seconds += finding_step_s(record, s + 1);
    pairs.push_back(fmt::format("{} ({}) and {} ({})", first.layer, first.op, second.layer, second.op));
  }
  if (pairs.empty()) return {};
  for (double& factor : factors) factor = std::max(factor, 0.0);
  Finding f =
      search.finding("steps that could be one", seconds, search.gain_s(finding_changed_steps(factors)));
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, pairs.size()); ++i) f.text += (i == 0 ? "" : ", ") + pairs[i];
  if (pairs.size() > kShown) f.text += fmt::format(" and {} more pairs", pairs.size() - kShown);
  f.text += ": what the first writes is read by the second alone";
  f.remedy = "one layer for both: its \"activation\", or one formula";
  return f;
}

}  // namespace headroom
