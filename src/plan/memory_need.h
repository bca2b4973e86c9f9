#pragma once

#include "plan/plan.h"

namespace headroom {

// Bytes that a plan needs on its device.
struct MemoryNeed {
  double stored = 0;  // parameters, state and constants, whatever the batch
  double arena = 0;   // everything else; grows with the batch

  double total() const { return stored + arena; }
};

MemoryNeed memory_need(const Plan& plan);

}  // namespace headroom
