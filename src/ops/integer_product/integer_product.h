#pragma once

#include "ops/conv2d/conv2d.h"
#include "ops/matmul/matmul.h"
#include "ops/operator.h"

namespace headroom {

// Products of 8-bit integers, signed or not, summed in int32, which wraps around. They have no gradient.
//   matmul_integer(a, b, a_zero, b_zero): (a - a_zero)(b - b_zero) of matrices in the last two axes, as
//   matmul without transpositions. a_zero has one element or one for each row of a matrix, b_zero one or one
//   for each column.
//   conv2d_integer(x[N,C,H,W], w[M,C/groups,KH,KW], x_zero, w_zero; as conv2d): x_zero has one element,
//   w_zero one or one for each map. Padding stands for zeros: it has the value x_zero.
// A zero point has the type of what it belongs to.
std::vector<Operator> integer_product_operators();

OpSchema matmul_integer_schema();
OpSchema conv2d_integer_schema();
std::vector<Case> matmul_integer_cases();
std::vector<Case> conv2d_integer_cases();

// One product of all matrices of a, one below the other, where they share b and a zero point.
MatmulProblem folded_matmul_integer(const Problem& problem);

Kernel integer_product_reference();
Kernel matmul_integer_cuda_tiles();
Kernel matmul_integer_cpu_dots();
Kernel conv2d_integer_cpu_dots();
Launcher prepare_matmul_integer_cuda(const Problem& problem, const LaunchContext& context);
Launcher prepare_conv2d_integer_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
