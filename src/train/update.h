#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/groups.h"
#include "graph/graph.h"

namespace headroom {

// How parameters change: an optimizer of ops/updates by name, and its settings. L2 applies to weights, not to
// biases. For adamw it is the decay of the weights, not a part of the loss.
struct Update {
  std::string kind = "sgd";
  double momentum = 0;  // sgd, rmsprop
  bool nesterov = false;
  double l2 = 0;
  bool decay = false;    // l2 acts through the gradient alone: it is no part of the reported loss
  double clip_norm = 0;  // > 0: gradients are scaled down so that the norm of all of them is at most this
  std::optional<double> beta1 = {}, beta2 = {}, epsilon = {}, rho = {}, alpha = {};  // empty: its default
  std::vector<std::string> freeze = {};  // patterns of parameters that stay as they are; see train/freeze.h
};

// "adam", "adam:beta1=0.8,epsilon=1e-6", "sgd:momentum=0.9". Rejects unknown optimizers and settings and
// suggests the nearest name.
Update parse_update(std::string_view text);
std::string to_text(const Update& update);  // the same form, with every setting

// Appends the in-place update of every parameter, and the scalars it reads. If its state is spread over ranks
// (is_sharded), each rank updates a share and sends it to the others.
void add_updates(Graph& graph, const std::map<ValueId, ValueId>& gradients, const Update& update,
                 const Distribution& ranks = {});

// Appends the scaling of all gradients by min(1, limit / their norm). Smaller gradients keep their bits.
void clip_gradients(Graph& graph, std::map<ValueId, ValueId>& gradients, double limit,
                    const Distribution& ranks);

bool keeps_state(const Update& update);  // beside the weights: momentum, moments

// True if L2 belongs to the loss; false if weights decay apart from the gradient.
bool penalty_in_loss(const Update& update);

// Changes between steps, like kStep.
inline constexpr const char* kLearningRate = "learning_rate";

}  // namespace headroom
