#pragma once

#include "ops/activation/activation.h"
#include "ops/classifier_head/split.h"
#include "ops/operator.h"

namespace headroom {

// classifier_head(h[B, H], w[C, H], bias[C], labels[B]; activation_grad = relu|sigmoid|tanh)
//   -> loss[1], correct[1], dz[B, H], dw[C, H], dbias[C], dh_bias[H]
// The end of a classifier in training, forward and backward: logits = h w^T + bias, the mean cross-entropy
// and how many rows have the label as their first maximum; d = (softmax - onehot) / B, dz = (d w) f'(x) with
// f' from h = f(x), dw = d^T h, and the column sums of d and of dz. Without activation_grad, dz = d w.
// With parts = 1|2, dz is in parts of fp16 (ops/fp16_parts), and a seventh output is their scale: it follows
// from the largest weight, since |dz| is at most twice that over B.
// Made by a pass after differentiation. A label outside [0, C) makes the loss, its row of dz, dw and both
// sums NaN.
std::vector<Operator> classifier_head_operators();

struct HeadProblem {
  std::int64_t rows = 0, inputs = 0, classes = 0;
  Activation slope = Activation::none;
  int parts = 0;        // of dz; 0: as it is
  std::int64_t ld = 0;  // of dz
};
HeadProblem head_problem(const Problem& problem);

OpSchema classifier_head_schema();
Launcher classifier_head_reference(const Problem& problem, const LaunchContext& context);
Launcher prepare_classifier_head_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
