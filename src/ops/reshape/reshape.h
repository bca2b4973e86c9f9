#pragma once

#include "ops/operator.h"

namespace headroom {

// The same elements in the same order under other extents. Views: plans give them no step; their kernel, a
// copy, is for whoever runs nodes one by one.
// reshape(x; shape): 0 keeps that axis of the input, and one extent may be -1.
// flatten(x; axis = 1): a matrix, the axes before `axis` by the others.
// squeeze(x; axes): without the named axes, which must be 1; without axes, all that are 1.
// unsqueeze(x; axes): with axes of 1 in these places of the output.
std::vector<Operator> reshape_operators();

}  // namespace headroom
