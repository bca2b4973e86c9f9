#pragma once

#include "ops/cpu/strided_copy.h"
#include "ops/operator.h"

namespace headroom {

// slice(x; starts, ends, axes, steps): along each named axis the elements start, start + step, … before end.
// Without axes the first ones are meant, without steps each step is 1. Negative starts and ends count from
// the end of the axis, then both are clamped to it; a negative step runs backwards, and an end before the
// first element includes it. Takes every element type. slice_grad(dy; the same and input_shape): dy in the
// places it was taken from, zeros elsewhere. Where all steps are 1 the gradient of slice is a pad instead.
std::vector<Operator> slice_operators();

// Of either operator; slice_grad has zeros around it.
StridedCopy slice_copy(const Problem& problem);
Launcher prepare_slice_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
