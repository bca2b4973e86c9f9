#include "plan/memory_need.h"

namespace headroom {

MemoryNeed memory_need(const Plan& plan) {
  MemoryNeed need{.arena = double(plan.arena_bytes)};
  for (Role role : {Role::parameter, Role::state, Role::constant})
    for (ValueId id : plan.graph.with_role(role))
      if (plan.graph.value(id).producer == kNone) need.stored += double(plan.graph.value(id).type.bytes());
  return need;
}

}  // namespace headroom
