#pragma once

#include <optional>

#include "graph/graph.h"
#include "headroom/net.h"
#include "models/layers.h"
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
  ValueId images = kNone, labels = kNone;  // a network that reconstructs has no labels
  ValueId logits = kNone;
  ValueId loss = kNone;  // mean over the batch of what the network says, plus the L2 penalty if there is one
  ValueId correct = kNone;  // how many of the batch are right; classifiers only
};

// Changes between steps, as does kStep.
inline constexpr const char* kLearningRate = "learning_rate";

struct ProgramOptions {
  DType dtype = DType::f32;
  std::uint64_t seed = 0;  // of dropout
  Update update;
  bool keep_gradients = false;  // every parameter's stays readable after a run, for tests; see gradient_of
};

// Lowers a network for one binding: forward, loss, and for training its gradients and updates; then fuses.
Program make_program(const Net& net, Mode mode, std::int64_t batch, const ProgramOptions& options);

// The gradient of a parameter in a program made with keep_gradients.
ValueId gradient_of(const Program& program, std::string_view parameter);

// Just the forward pass, for inference costs: images to logits.
Program make_forward(const Net& net, std::int64_t batch, DType dtype);

}  // namespace headroom
