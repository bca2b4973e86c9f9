#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "comm/groups.h"
#include "graph/graph.h"

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

// "adam", "adam:beta1=0.8,epsilon=1e-6", "sgd:momentum=0.9". Unknown optimizers and settings are rejected
// with the nearest name.
Update parse_update(std::string_view text);
std::string to_text(const Update& update);  // in the same form, everything said

// Appends the update of every parameter, in place, and the scalars it reads.
// Of parameters whose state is spread over ranks (see is_sharded), a share, which then goes to the others.
void add_updates(Graph& graph, const std::map<ValueId, ValueId>& gradients, const Update& update,
                 const Distribution& ranks = {});

bool keeps_state(const Update& update);  // beside the weights: momentum, moments

// Does L2 belong to the loss? Not where weights decay apart from the gradient.
bool penalty_in_loss(const Update& update);

// Changes between steps, as does kStep.
inline constexpr const char* kLearningRate = "learning_rate";

}  // namespace headroom
