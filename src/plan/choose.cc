#include <algorithm>
#include <optional>

#include "base/text.h"
#include "ops/operator.h"
#include "plan/plan.h"

namespace headroom {

namespace {

// Kernels of a kind, by the names that stand for it in place of a kernel's.
struct KernelKind {
  std::string_view name, reason;
  bool vendor;
};
constexpr KernelKind kKinds[] = {{"library", "the first that calls a library", true},
                                 {"own", "the first of our own", false}};

const KernelKind* kind_named(std::string_view name) {
  const auto kind = std::ranges::find(kKinds, name, &KernelKind::name);
  return kind == std::end(kKinds) ? nullptr : &*kind;
}

// The first kernel of the list that accepts, and pays; with a kind, the first of that kind. Who asks for a
// library gets it where our own kernels are faster, too.
Choice first_of(const Problem& problem, const Target& target, const KernelKind* kind) {
  Choice choice;
  if (operator_of(problem.op).kernels.empty())
    reject(Hint{"headroom predict shows its minimum cost"},
           "operator '{}' has no kernel yet: it can be predicted, not run", problem.op);
  for (const Kernel& kernel : operator_of(problem.op).kernels) {
    if (kernel.device != target.device.kind || (kind != nullptr && kernel.vendor != kind->vendor)) continue;
    Verdict verdict = accepts(kernel, problem, target);
    if (verdict.ok && kernel.pays && !(kind != nullptr && kind->vendor))
      verdict = kernel.pays(problem, target);
    if (verdict.ok) {
      choice.kernel = &kernel;
      choice.why = kind != nullptr          ? kind->reason
                   : choice.refused.empty() ? "first in the list"
                                            : "first that accepts";
      return choice;
    }
    choice.refused.push_back({std::string(kernel.name), verdict.reason});
  }
  std::string reasons;
  for (const Refusal& r : choice.refused) reasons += fmt::format("; {}: {}", r.kernel, r.reason);
  reject("no kernel {}runs {}{}",
         kind == nullptr ? ""
         : kind->vendor  ? "that calls a library "
                         : "of our own ",
         problem.str(), reasons);
}

}  // namespace

Choice first_that_accepts(const Problem& problem, const Target& target) {
  return first_of(problem, target, nullptr);
}

namespace {

// "cudnn" is a kernel, "cudnn:heuristic_3" one of its candidates. Returns the variant, empty for the kernel
// itself; nothing where the name means another kernel.
std::optional<std::string> variant_in(const std::string& name, const Kernel& kernel) {
  if (name == kernel.name) return "";
  const std::string prefix = std::string(kernel.name) + ":";
  if (!kernel.candidates || !name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

void require_known(const std::string& op, const std::string& name) {
  std::vector<std::string> names;
  for (const KernelKind& kind : kKinds) names.emplace_back(kind.name);
  for (const Kernel& kernel : operator_of(op).kernels) {
    if (kind_named(name) != nullptr) return;
    if (variant_in(name, kernel)) return;
    names.emplace_back(kernel.name);
  }
  reject(nearest(name, names), "operator '{}' has no kernel '{}'", op, name);
}

Choice force(const std::string& name, const Kernel& kernel, const std::string& variant,
             const Problem& problem, const Target& target) {
  if (kernel.device != target.device.kind) reject("kernel '{}' is not for this device", name);
  const Verdict verdict = accepts(kernel, problem, target);
  if (!verdict.ok) reject("kernel '{}' refuses {}: {}", name, problem.str(), verdict.reason);
  if (!variant.empty()) {
    const std::vector<std::string> names = kernel.candidates(problem, target);
    if (std::ranges::find(names, variant) == names.end())
      reject(nearest(variant, names), "kernel '{}' has no candidate '{}' for {}", kernel.name, variant,
             problem.str());
  }
  return {.kernel = &kernel, .why = "forced", .refused = {}, .variant = variant, .forced = true};
}

}  // namespace

Chooser forced(std::vector<std::pair<std::string, std::string>> choices) {
  for (const auto& [op, name] : choices) require_known(op, name);
  return [choices = std::move(choices)](const Problem& problem, const Target& target) {
    for (const auto& [op, name] : choices) {
      if (op != problem.op) continue;
      if (const KernelKind* kind = kind_named(name)) {
        Choice choice = first_of(problem, target, kind);
        choice.forced = choice.of_kind = true;
        return choice;
      }
      for (const Kernel& kernel : operator_of(op).kernels)
        if (const auto variant = variant_in(name, kernel))
          return force(name, kernel, *variant, problem, target);
    }
    return first_that_accepts(problem, target);
  };
}

Chooser even_without_kernel(Chooser choose) {
  return [choose = std::move(choose)](const Problem& problem, const Target& target) {
    if (operator_of(problem.op).kernels.empty())
      return Choice{nullptr, "no kernel yet: the minimum work", {}};
    return choose(problem, target);
  };
}

}  // namespace headroom
