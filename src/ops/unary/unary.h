#pragma once

#include "ops/operator.h"
#include "ops/unary/functions.h"

namespace headroom {

// Functions of one element, with the definitions and defaults of ONNX; functions.h lists them. NaN stays NaN.
// Each differentiable function f also has f_grad(dy, v), where v is y for functions whose slope follows from
// it, else x. exp, log and neg need no gradient operator of their own.
std::vector<Operator> unary_operators();

// cuda.cc. `form` is a place in unary::AllForms.
Launcher unary_cuda_launcher(std::size_t form, const unary::AttributeValues& attributes,
                             const Problem& problem);

}  // namespace headroom
