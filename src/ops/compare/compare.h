#pragma once

#include "ops/operator.h"

namespace headroom {

// Truth values, one byte each, of operands stretched to a common shape:
//   equal, less, less_or_equal, greater, greater_or_equal (a, b): any one element type. NaN is neither equal
//   to, nor less or greater than anything.
//   logical_and, logical_or, logical_xor (a, b), logical_not (a): bool or uint8; any byte but 0 is true.
// None has a gradient.
std::vector<Operator> compare_operators();

enum class Comparison { equal, less, less_or_equal, greater, greater_or_equal, both, either, one, neither };
Comparison comparison_of(std::string_view op);

Launcher prepare_compare_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
