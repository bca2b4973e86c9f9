#pragma once

#include "ops/operator.h"

namespace headroom {

// count_correct(scores[N, C], labels[N]) -> [1] in the scores' type: rows whose first maximum is the label. A
// row that holds a NaN predicts nothing and is never correct.
std::vector<Operator> count_correct_operators();

// For cross_entropy too, which has the same inputs.
Launcher count_correct_reference(const Problem& problem, const LaunchContext& context);
Launcher count_correct_by_label(const Problem& problem, const LaunchContext& context);

Launcher prepare_count_correct_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
