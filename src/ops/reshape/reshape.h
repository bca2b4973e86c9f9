#pragma once

#include "ops/operator.h"

namespace headroom {

// reshape(x; shape): the same elements in the same order under other extents, one of which may be -1. A view:
// plans give it no step; its kernel, a copy, is for whoever runs nodes one by one.
std::vector<Operator> reshape_operators();

}  // namespace headroom
