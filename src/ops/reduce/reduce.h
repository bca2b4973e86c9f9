#pragma once

#include "ops/operator.h"

namespace headroom {

// reduce_sum, reduce_mean, reduce_max of (x) over `axes` (absent or empty: all); keepdims 1, the default,
// leaves an extent of 1 where an axis was. Sums and maxima also take int64 and int32; such sums wrap around.
// A maximum is NaN if one of its elements is. reduce_max_grad(dy, x,
// y) shares dy evenly among the elements equal to the maximum. expand(x; shape, scale = 1): scale * x,
// stretched to the common shape of x and `shape`; with a scale of 1 of any element type.
std::vector<Operator> reduce_operators();

struct ReduceProblem {
  Shape input, kept;               // kept: with an extent of 1 where an axis is reduced
  std::vector<std::int64_t> axes;  // 0..rank-1, ascending
  std::int64_t count = 1;          // elements per result
};
// `input` is the tensor that is reduced: input 0, but 1 of reduce_max_grad.
ReduceProblem reduce_problem(std::string_view op, const Shape& input, const Attrs& attrs);
ReduceProblem reduce_problem(const Problem& problem);

OpSchema reduce_schema(const std::string& name);
OpSchema reduce_max_grad_schema();
OpSchema expand_schema();

std::vector<Case> reduce_cases(std::string_view op);  // of any of them

}  // namespace headroom
