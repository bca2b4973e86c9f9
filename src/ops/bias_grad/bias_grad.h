#pragma once

#include "ops/operator.h"
#include "ops/rows_split.h"

namespace headroom {

// bias_grad(dy[N, C, …]) -> [C]: the sum over all axes but the second. bias_grad(dy, y; activation_grad =
// relu)
// -> db, g: of g = dy where y > 0, else 0, which it writes too. A pass makes that.
std::vector<Operator> bias_grad_operators();

// On a GPU: channels side by side, 16 bytes at a time.
cuda::RowsSplit bias_rows_split(const Problem& problem);
Launcher prepare_bias_grad_rows(const Problem& problem, const LaunchContext& context);

Launcher prepare_bias_grad_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
