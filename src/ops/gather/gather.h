#pragma once

#include "ops/operator.h"

namespace headroom {

// gather(data, indices; axis): the slices of data along an axis that the indices name, in their order; the
// axis is replaced by the shape of the indices. On axis 0 of a matrix this is an embedding. Indices are int32
// or int64, and negative ones count from the end; one that lies outside stops the run with its place. Takes
// every type of data. On a GPU nothing can stop there: such an index takes NaN, which spoils the loss
// and stops the run after it, and among integers a number far below 0. gather_grad(dy, indices; axis,
// input_shape): each slice of dy added to the one it was taken from, in the order of the indices: the same
// bits for any number of threads.
std::vector<Operator> gather_operators();

// data is [outer, extent, inner], the result [outer, count, inner].
struct GatherSizes {
  std::string_view op;
  std::int64_t outer = 1, extent = 1, inner = 1, count = 1;
};
GatherSizes gather_sizes(const Problem& problem);  // of either operator

OpSchema gather_schema();
OpSchema gather_grad_schema();

std::vector<Case> gather_cases(bool backward);

}  // namespace headroom
