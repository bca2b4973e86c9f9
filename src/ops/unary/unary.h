#pragma once

#include "ops/operator.h"
#include "ops/unary/scalar.h"

namespace headroom {

// Functions of one element, with the definitions and defaults of ONNX:
//   exp, log, sqrt, neg, abs, erf
//   leaky_relu (alpha 0.01)            x < 0 ? alpha x : x
//   elu (alpha 1, not negative)        x < 0 ? alpha (e^x - 1) : x
//   gelu (approximate "none", "tanh")  x P(normal < x), or its approximation by tanh
//   clip (min, max)                    each may be absent; where min > max the result is max
//   threshold (threshold 0, value 0)   x <= threshold ? value : x, which is Torch's and not in ONNX
//   hard_sigmoid (alpha 0.2, beta 0.5) alpha x + beta, cut to [0, 1]
//   hard_swish                         x (x / 6 + 1/2, cut to [0, 1])
//   floor, ceil, round, sign           round: halves to the even neighbour
//   sin, cos, softplus                 softplus: log(1 + e^x)
// NaN stays NaN. Their gradients are f_grad(dy, v): v is y for sqrt, elu and hard_sigmoid, whose slope
// follows from it, else x. exp, log and neg need none of their own, and floor, ceil,
// round and sign have none. At a kink the slope is PyTorch's: abs 0
// at 0, leaky_relu alpha at 0, clip 1 at its bounds, hard_sigmoid 0 where it saturates.
std::vector<Operator> unary_operators();

// clip's bounds default to none, threshold's pair to zeros, the others' alpha and beta to ONNX's values.
Knobs<double> knobs_of(std::string_view op, const Attrs& attrs);

Launcher prepare_unary_cuda(const Problem& problem, const Capabilities& capabilities);

}  // namespace headroom
