// The operators of the level of CPU kernels in use, found by name.
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "device/cpu/levels.h"
#include "ops/operator.h"

namespace headroom {

// HEADROOM_BUILT_LEVELS, from cmake/levels.cmake, is HEADROOM_LEVEL(name) for each level. registry.cc defines
// the function once for each.
namespace level_operators {
#define HEADROOM_LEVEL(name) std::vector<Operator> name();
HEADROOM_BUILT_LEVELS
#undef HEADROOM_LEVEL
}  // namespace level_operators

namespace {

struct Registry {
  explicit Registry(std::vector<Operator> operators) : list(std::move(operators)) {
    for (const Operator& op : list) by_name[op.schema.name] = &op;
  }
  std::vector<Operator> list;
  std::unordered_map<std::string_view, const Operator*> by_name;
};

template <std::vector<Operator> (*list)()>
const Registry& registry_of() {
  static const Registry instance(list());
  return instance;
}

const Registry& registry() {
  const std::string_view used = used_cpu_level().name;
#define HEADROOM_LEVEL(level) \
  if (used == #level) return registry_of<level_operators::level>();
  HEADROOM_BUILT_LEVELS
#undef HEADROOM_LEVEL
  fail("the level {} has no operators", used);
}

}  // namespace

std::span<const Operator> operators() { return registry().list; }

const Operator& operator_of(std::string_view name) {
  const auto it = registry().by_name.find(name);
  if (it != registry().by_name.end()) return *it->second;
  std::vector<std::string> names;
  for (const Operator& op : operators()) names.push_back(op.schema.name);
  reject(nearest(name, names), "unknown operator '{}'", name);
}

const OpSchema& schema_of(std::string_view op) { return operator_of(op).schema; }

}  // namespace headroom

template class std::vector<headroom::Case>;
template class std::vector<headroom::Kernel>;
template class std::vector<headroom::Operator>;
