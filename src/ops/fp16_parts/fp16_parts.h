#pragma once

#include "ops/activation/activation.h"
#include "ops/operator.h"

namespace headroom {

// Exact products of fp32 by tensor cores: matrices in parts of fp16 (ops/cuda/fp16_parts.h), and their
// products. Made by a pass, so that a matrix of several products is split once.
//
// fp16_parts(x[..., C], …; parts = 1|2) -> parts fp16 [parts, R, C'], scale[4], …: one matrix or two, all
// axes of each but the last as rows, and C filled up with zeros to a multiple of 8. scale = {power, base,
// parts that are not zero, 0}: x = (hi + lo) power / base.
//
// parts_product(a, scale_a, b, scale_b, bias[N]?; k, shape, trans_a, trans_b, activation) -> f(op(A) op(B) +
// bias)[shape]: of hi hi + hi lo + lo hi. `shape` has N as its last axis; what comes before is M.
std::vector<Operator> fp16_parts_operators();

// The parts of a matrix of this shape.
TensorType parts_type(const Shape& matrix, int parts);

struct PartsProblem {
  std::int64_t rows, columns, ld;
  int parts;
};
std::vector<PartsProblem> parts_problems(const Problem& problem);  // one for each matrix

struct PartsProduct {
  std::int64_t m, n, k;
  std::int64_t rows_a, ld_a, rows_b, ld_b;  // of each part
  int parts_a, parts_b;
  bool trans_a, trans_b, bias;
  Activation activation;
};
PartsProduct parts_product(const std::vector<TensorType>& inputs, const Attrs& attrs);

// For references: values of at most `bound`, without a look at what they are.
template <class T>
void write_parts(const PartsProblem& problem, const T* x, double bound, T* parts, T* scale);

OpSchema fp16_parts_schema();
OpSchema parts_product_schema();
std::vector<Case> fp16_parts_cases();
std::vector<Case> parts_product_cases();
Launcher fp16_parts_reference(const Problem& problem, const LaunchContext& context);
Launcher parts_product_reference(const Problem& problem, const LaunchContext& context);
Launcher prepare_fp16_parts_cuda(const Problem& problem, const LaunchContext& context);
Launcher prepare_parts_product_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
