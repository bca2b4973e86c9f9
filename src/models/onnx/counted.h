#pragma once

// Axes whose size depends on the data. The plan has fixed sizes: such an axis is as long as it can get, and a
// value of the graph tells how much of it holds results. This file knows which operators work row by row
// along such an axis, so that their results have it, too.

#include "models/onnx/terms.h"

namespace headroom::onnx {

// The counted axis of the results of a node with counted inputs; empty if no input is counted. Unsupported
// for operators, and forms of them, that need the true size.
std::optional<Counted> counted_results(Context& c);

// A result of which `found` tells how much of an axis counts. If both are known it is cut at once, unless
// nothing would be left.
Term counted_by(Context& c, const Term& term, int axis, const Term& found);

}  // namespace headroom::onnx
