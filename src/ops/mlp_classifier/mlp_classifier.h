#pragma once

#include "ops/activation/activation.h"
#include "ops/operator.h"

namespace headroom {

// mlp_classifier(x[B, K], w1[H, K], b1[H], w2[C, H], b2[C], labels[B]; activation = relu|sigmoid|tanh)
//   -> loss[1], correct[1], dw1[H, K], db1[H], dw2[C, H], db2[C]
// A training step of a classifier with one hidden layer, from the batch to all gradients: h = f(x w1^T + b1),
// then what classifier_head computes of h, w2, b2 and the labels, then dw1 = dz^T x. Neither h nor dz is
// kept. Made by a pass after fuse_head. A label outside [0, C) makes the loss and all gradients NaN.
//
// With learning_rate[1] in fp64 after the labels, parameters are changed in place of gradients written: p' =
// p - learning_rate (dp + l2 p) for w1, b1, w2 and b2, with l2 where `penalized` has a 1, as by sgd. With
// penalty = 1 the loss has l2 / 2 times the squares of these parameters added, as by l2_penalty. With sums[8]
// after the learning rate, loss and correct are added to them, as by tally with its `count`.
std::vector<Operator> mlp_classifier_operators();

struct MlpClassifierProblem {
  static constexpr std::size_t kParameters = 4;  // inputs 1 to 4, outputs 2 to 5
  std::int64_t rows = 0, inputs = 0, hidden = 0, classes = 0;
  Activation activation = Activation::none;
  bool updates = false, penalty = false, tallies = false;
  double l2[kParameters] = {};
  std::int64_t count = 1;
};
MlpClassifierProblem mlp_classifier_problem(const Problem& problem);

OpSchema mlp_classifier_schema();
Launcher mlp_classifier_reference(const Problem& problem, const LaunchContext& context);
Launcher prepare_mlp_classifier_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
