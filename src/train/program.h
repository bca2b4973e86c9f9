#pragma once

#include <optional>

#include "graph/graph.h"
#include "headroom/net.h"
#include "plan/plan.h"

namespace headroom {

// How parameters change: an optimizer of ops/updates by name, and its settings. L2 applies to weights, not to
// biases; for adamw it is the decay of the weights, no part of the loss.
struct Update {
  std::string kind = "sgd";
  double momentum = 0;  // sgd, rmsprop
  bool nesterov = false;
  double l2 = 0;
  std::optional<double> beta1 = {}, beta2 = {}, epsilon = {}, rho = {}, alpha = {};  // absent: its default
};

// A network with a task: the graph and the values a trainer touches. Eval programs end at loss and correct.
struct Program {
  Graph graph;
  ValueId images = kNone, labels = kNone;
  ValueId logits = kNone;
  ValueId loss = kNone;     // mean cross-entropy over the batch, plus the L2 penalty where there is one
  ValueId correct = kNone;  // how many of the batch are right
};

// Names of the scalars that change between steps.
inline constexpr const char* kLearningRate = "learning_rate";
inline constexpr const char* kStep = "step";  // number of the update, from 1; where the optimizer counts them

// Lowers a network for one binding: forward, loss, and for training its gradients and updates; then fuses.
// keep_gradients: the gradient of every parameter stays readable after a run, for tests; see gradient_of.
Program make_program(const Net& net, Mode mode, std::int64_t batch, DType dtype, const Update& update,
                     bool keep_gradients = false);

// The gradient of a parameter in a program made with keep_gradients.
ValueId gradient_of(const Program& program, std::string_view parameter);

// Just the forward pass, for inference costs: images to logits.
Program make_forward(const Net& net, std::int64_t batch, DType dtype);

}  // namespace headroom
