#include "bench/ladder.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bench/ladder_node.h"
#include "ops/operator.h"
#include "plan/plan.h"
#include "predict/predict.h"

namespace headroom {
namespace {

const std::vector<Kernel>& kernels_of(const Ladder& ladder) {
  return ladder.kernels != nullptr ? *ladder.kernels : operator_of(ladder.op).kernels;
}

// A GPU's rung on a CPU: the same reason for all of them.
std::string why_not_here(const Kernel& kernel) {
  if (kernel.device == DeviceKind::cpu) return "runs on a CPU: use `device` cpu";
  const GpuSurvey survey = survey_gpus();
  return survey.gpus.empty() ? fmt::format("needs a GPU: {}", survey.why_not)
                             : "needs a GPU: use `device` cuda";
}

bool picked(const LadderOptions& options, const Rung& rung) {
  return options.only.empty() || std::ranges::find(options.only, rung.name) != options.only.end();
}

// One climb: the inputs and the right result, which all rungs share.
class Climb {
 public:
  Climb(Device& device, const Machine& machine, const Ladder& ladder, const LadderProblem& problem,
        const MakeLadderCheck& make_check, const LadderOptions& options)
      : device_(device), machine_(machine), ladder_(ladder), options_(options), make_check_(make_check) {
    run_.problem = problem;
    problem_ = ladder_problem(ladder.op, problem);
    run_.text = problem_.str();
    run_.cost = operator_of(ladder.op).schema.cost(problem_);
  }

  LadderRun run() {
    if (!options_.counters.empty()) prepare_counters();
    for (const Rung& rung : ladder_.rungs) {
      if (!picked(options_, rung)) continue;
      run_.rungs.push_back(tried(rung));
    }
    compare_times(run_);
    return std::move(run_);
  }

 private:
  RungResult tried(const Rung& rung) {
    RungResult result{.rung = rung, .seconds = {}, .work = {}, .error = {}};
    const auto& kernels = kernels_of(ladder_);
    const auto kernel = std::ranges::find(kernels, rung.kernel, &Kernel::name);
    if (kernel == kernels.end()) fail("operator '{}' has no kernel '{}'", ladder_.op, rung.kernel);
    if (kernel->device != device_.kind()) {
      result.reason = why_not_here(*kernel);
      return result;
    }
    const Target target(device_.capabilities(), options_.policy);
    if (const Verdict verdict = accepts(*kernel, problem_, target); !verdict.ok) {
      result.reason = verdict.reason;
      return result;
    }
    try {
      measure(*kernel, target, result);
    } catch (const Error& error) {  // one rung must not cost the others' results
      device_.clear_error();
      result.outcome = RungResult::Outcome::left_out;
      result.reason = error.what();
    }
    return result;
  }

  void measure(const Kernel& kernel, const Target& target, RungResult& result) {
    if (options_.progress) options_.progress(result.rung.name);
    if (const double seconds = seconds_foreseen(kernel, target, result.rung);
        options_.only.empty() && seconds > options_.patience) {
      result.reason = fmt::format("one run would take about {}: pick it by `rung` to run it all the same",
                                  human_seconds(seconds));
      return;
    }
    prepare_inputs();
    LadderNode node(device_, {problem_, &kernel, result.rung.variant, target}, inputs_->buffers);
    result.work = node.step().work;
    const StepPrediction floor = predict(node.plan(), machine_).steps.at(0);
    result.floor_s = floor.floor_s;
    if (floor.floor_s > run_.floor_s) run_.floor_s = floor.floor_s, run_.bound = floor.bound;
    const double once = node.run_poisoned();
    result.error = check_->compare(node.outputs());
    if (!result.error.wrong.empty()) {
      result.outcome = RungResult::Outcome::wrong;
      result.reason = result.error.wrong;
      return;
    }
    if (device_.kind() != DeviceKind::cpu && run_.why_no_launches.empty())
      result.launch = node.trace_launch(run_.why_no_launches);
    result.seconds =
        options_.zeroed ? node.sample_zeroed(once, options_.seconds) : node.sample(once, options_.seconds);
    result.outcome = RungResult::Outcome::timed;
    if (counts_) count(node, result);
  }

  void prepare_counters() {
    counts_ = device_.kind() != DeviceKind::cpu;
    if (counts_)
      run_.why_no_launches = "counters were read instead; one process cannot trace first and count later";
    else
      run_.counter_notes = {"no counters: a ladder reads those of GPUs, and a CPU ran"};
  }

  // The first rung tells what keeps the others from being counted, too.
  void count(LadderNode& node, RungResult& result) {
    std::vector<std::string> notes;
    result.counted = node.count(options_.counters, notes);
    counts_ = result.counted.has_value();
    for (std::string& note : notes)
      if (std::ranges::find(run_.counter_notes, note) == run_.counter_notes.end())
        run_.counter_notes.push_back(std::move(note));
  }

  // From one run of the small problem, if the whole one is large enough for doubt.
  double seconds_foreseen(const Kernel& kernel, const Target& target, const Rung& rung) {
    constexpr double kSlowest = 1e8;  // FLOP/s of the slowest kernel that anyone would show
    if (!options_.small || run_.cost.flops() < kSlowest * options_.patience) return 0;
    const Problem small = ladder_problem(ladder_.op, *options_.small);
    if (!accepts(kernel, small, target).ok) return 0;
    const LadderInputs inputs(device_, small, options_.seed);
    LadderNode node(device_, {small, &kernel, rung.variant, target}, inputs.buffers);
    node.run_poisoned();
    const double once = node.run_poisoned();
    return once * run_.cost.flops() / operator_of(ladder_.op).schema.cost(small).flops();
  }

  // Random numbers and the right result take time: only once a rung needs them.
  void prepare_inputs() {
    if (inputs_ != nullptr) return;
    inputs_ = std::make_unique<LadderInputs>(device_, problem_, options_.seed);
    check_ = make_check_(problem_, inputs_->host, options_.policy);
  }

  Device& device_;
  const Machine& machine_;
  const Ladder& ladder_;
  const LadderOptions& options_;
  const MakeLadderCheck& make_check_;
  LadderRun run_;
  bool counts_ = false;
  Problem problem_;
  std::unique_ptr<LadderInputs> inputs_;
  std::unique_ptr<LadderCheck> check_;
};

}  // namespace

Rung rung_of(std::string kernel, std::string title, std::string builds_on, std::string changed,
             std::string why) {
  return {.name = kernel,
          .title = std::move(title),
          .kernel = kernel,
          .builds_on = std::move(builds_on),
          .changed = std::move(changed),
          .why = std::move(why)};
}

void compare_times(LadderRun& run) {
  const RungResult *first = nullptr, *above = nullptr;
  for (RungResult& result : run.rungs) {
    if (!result.timed()) continue;
    if (first == nullptr) first = &result;
    const RungResult* before = above;
    for (const RungResult& other : run.rungs)
      if (other.timed() && other.rung.name == result.rung.builds_on) before = &other;
    result.over_first = first->seconds.median / result.seconds.median;
    if (before != nullptr) result.over_before = before->seconds.median / result.seconds.median;
    above = &result;
  }
}

bool LadderRun::any_wrong() const {
  return std::ranges::any_of(rungs,
                             [](const RungResult& r) { return r.outcome == RungResult::Outcome::wrong; });
}

bool LadderRun::any_timed() const {
  return std::ranges::any_of(rungs, [](const RungResult& r) { return r.timed(); });
}

namespace {

// Of factors of fp32 products. Those of tf32 are cut, others rounded.
double factor_roundoff(const Policy& policy) {
  return policy.bf16 ? unit_roundoff(DType::bf16) : policy.tf32 ? std::ldexp(1, -11) : 0;
}

}  // namespace

double allowed_error(double want, DType dtype, const Policy& policy, double terms, double size) {
  const double stored = unit_roundoff(dtype), summed = unit_roundoff(master_of(dtype));
  // Factors cut to 11 bits err by up to 2^-10 each, and mixed signs average that; results of 16 bits may be
  // rounded twice, where a pass behind the product scales them.
  const double rounded = dtype == DType::f32 ? factor_roundoff(policy) : 0;
  const double lost = is_16bit(dtype) ? 4 * stored : 8 * rounded;
  return 4 * stored * std::abs(want) + (4 * summed * std::sqrt(terms) + lost) * size;
}

void require_rungs(const Ladder& ladder, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Rung& rung : ladder.rungs) known.push_back(rung.name);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      reject(nearest(name, known), "`rung`: the ladder of {} has no rung '{}'", ladder.op, name);
}

LadderRun climb(Device& device, const Machine& machine, const Ladder& ladder, const LadderProblem& problem,
                const MakeLadderCheck& make_check, const LadderOptions& options) {
  require_rungs(ladder, options.only);
  double bytes = 0;
  const Problem whole = ladder_problem(ladder.op, problem);
  for (const auto* list : {&whole.inputs, &whole.outputs})
    for (const TensorType& type : *list) bytes += double(type.bytes());
  require_memory(device, problem.name, bytes);
  return Climb(device, machine, ladder, problem, make_check, options).run();
}

}  // namespace headroom
