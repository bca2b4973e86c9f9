#include "timing/choose.h"

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "ops/operator.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxRivals = 3;
constexpr double kClearlyFaster = 0.95;  // of the time of the list's choice, which is known to be good

RivalTime predicted_time(const Kernel& kernel, const Problem& problem, const Target& target,
                         const Machine& machine, const TimeModel& model) {
  Step step;
  step.kernel = &kernel, step.problem = problem;
  step.work = kernel.work ? kernel.work(problem, target) : least_work(problem, target);
  if (kernel.workspace) step.workspace = kernel.workspace(problem, target);
  if (!model.knows(step, machine, target)) return {&kernel, 0, 0};
  const StepTime time = model.time(step, machine, target);
  return {&kernel, time.seconds, std::max(time.seconds, time.high)};
}

}  // namespace

std::vector<const Kernel*> rival_kernels(const Problem& problem, const Target& target) {
  std::vector<const Kernel*> rivals;
  for (const Kernel& kernel : operator_of(problem.op).kernels) {
    if (rivals.size() == kMaxRivals) break;
    if (kernel.device != target.device.kind || kernel.name == "reference") continue;
    if (accepts(kernel, problem, target).ok) rivals.push_back(&kernel);
  }
  return rivals;
}

std::vector<RivalTime> rival_times(const Problem& problem, const Target& target, const Machine& machine,
                                   const TimeModel& model) {
  std::vector<RivalTime> times;
  for (const Kernel* kernel : rival_kernels(problem, target))
    times.push_back(predicted_time(*kernel, problem, target, machine, model));
  return times;
}

Chooser predicted_best(Machine machine, const TimeModel& model, Chooser otherwise) {
  return [machine = std::move(machine), &model, otherwise = std::move(otherwise)](const Problem& problem,
                                                                                  const Target& target) {
    Choice choice = otherwise(problem, target);
    if (choice.kernel == nullptr || choice.why == "forced") return choice;
    std::vector<RivalTime> rivals = rival_times(problem, target, machine, model);
    // The list's own choice need not be among the first that accept.
    if (std::ranges::find(rivals, choice.kernel, &RivalTime::kernel) == rivals.end())
      rivals.insert(rivals.begin(), predicted_time(*choice.kernel, problem, target, machine, model));
    const RivalTime own = *std::ranges::find(rivals, choice.kernel, &RivalTime::kernel);
    if (rivals.size() < 2 || own.seconds <= 0) return choice;  // nothing to compare with
    RivalTime best = own;
    bool close = false;  // another is faster, but not clearly
    std::string times;
    for (const RivalTime& rival : rivals) {
      if (rival.seconds <= 0) continue;
      times += fmt::format("{}{} {} (at worst {})", times.empty() ? "" : ", ", rival.kernel->name,
                           human_seconds(rival.seconds), human_seconds(rival.at_worst));
      if (rival.at_worst >= best.at_worst) continue;
      if (rival.at_worst < kClearlyFaster * own.at_worst)
        best = rival;
      else
        close = true;
    }
    if (best.kernel != own.kernel)
      choice.kernel = best.kernel, choice.variant.clear(), choice.variant_s = 0, close = false;
    choice.why = fmt::format(
        "{} {}", close ? "as in the list, for no other is clearly faster:" : "least predicted time of",
        times);
    return choice;
  };
}

Chooser any_rival(std::uint64_t seed) {
  return [seed](const Problem& problem, const Target& target) {
    const std::vector<const Kernel*> rivals = rival_kernels(problem, target);
    if (rivals.size() < 2) return first_that_accepts(problem, target);
    const Philox random(seed, 29);
    const std::size_t at = random.below(std::hash<std::string>{}(problem.str()), rivals.size());
    return Choice{rivals[at], "drawn at random", {}};
  };
}

}  // namespace headroom
