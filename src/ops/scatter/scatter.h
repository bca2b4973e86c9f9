#pragma once

#include "ops/operator.h"

namespace headroom {

// scatter(data, places, updates; reduction = "none"): data, with row places[k] replaced by row k of the
// updates, or with "add", "mul", "max" or "min" combined with it; k runs from 0, and the last one to replace
// a row wins. Rows are what stands behind the first axis. Places are int32 or int64, and negative ones count
// from the end. One that lies outside stops the run with its place; on a GPU, where nothing can stop, its
// update is left out. Replacing takes any element type; the others take floats, int64 and int32, and NaN wins
// a "max" or "min". The gradient exists for "none", where it takes each place to be named once, and for
// "add".
std::vector<Operator> scatter_operators();

Launcher prepare_scatter_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
