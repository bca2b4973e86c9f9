#include "base/text.h"
#include "ops/operator.h"
#include "plan/plan.h"

namespace headroom {

Choice first_that_accepts(const Problem& problem, const Capabilities& capabilities) {
  Choice choice;
  if (operator_of(problem.op).kernels.empty())
    reject(Hint{"headroom predict tells what it must cost"},
           "operator '{}' has no kernel yet: it can be predicted, not run", problem.op);
  for (const Kernel& kernel : operator_of(problem.op).kernels) {
    if (kernel.device != capabilities.kind) continue;
    const Verdict verdict = accepts(kernel, problem, capabilities);
    if (verdict.ok) {
      choice.kernel = &kernel;
      choice.why = choice.refused.empty() ? "first in the list" : "first that accepts";
      return choice;
    }
    choice.refused.push_back({std::string(kernel.name), verdict.reason});
  }
  std::string reasons;
  for (const Refusal& r : choice.refused) reasons += fmt::format("; {}: {}", r.kernel, r.reason);
  reject("no kernel runs {}{}", problem.str(), reasons);
}

Chooser forced(std::vector<std::pair<std::string, std::string>> choices) {
  for (const auto& [op, name] : choices) {
    std::vector<std::string> names;
    for (const Kernel& kernel : operator_of(op).kernels) names.emplace_back(kernel.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      reject(nearest(name, names), "operator '{}' has no kernel '{}'", op, name);
  }
  return [choices = std::move(choices)](const Problem& problem, const Capabilities& capabilities) {
    for (const auto& [op, name] : choices) {
      if (op != problem.op) continue;
      for (const Kernel& kernel : operator_of(op).kernels) {
        if (kernel.name != name) continue;
        if (kernel.device != capabilities.kind) reject("kernel '{}' is not for this device", name);
        const Verdict verdict = accepts(kernel, problem, capabilities);
        if (!verdict.ok) reject("kernel '{}' refuses {}: {}", name, problem.str(), verdict.reason);
        return Choice{&kernel, "forced", {}};
      }
    }
    return first_that_accepts(problem, capabilities);
  };
}

Chooser even_without_kernel(Chooser choose) {
  return [choose = std::move(choose)](const Problem& problem, const Capabilities& capabilities) {
    if (operator_of(problem.op).kernels.empty()) return Choice{nullptr, "no kernel yet: the least work", {}};
    return choose(problem, capabilities);
  };
}

}  // namespace headroom
