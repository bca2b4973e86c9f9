#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/constant_data.h"
#include "graph/schema.h"

namespace headroom {

// The purpose of a value; it decides where the value lives. Scalars change between steps (the learning rate):
// they stay in device memory so that a captured step remains valid.
enum class Role { input, parameter, constant, activation, gradient, state, scalar };
std::string_view name_of(Role role);

enum class Phase { forward, backward, update };
std::string_view name_of(Phase phase);

// How a parameter is initialised. Fan-in and fan-out come from the shape.
struct Initializer {
  enum class Kind {
    constant,
    normal,
    uniform,
    fan_in,
    xavier,
    he,
    orthonormal,
    layer_seeded_normal,
    from_data
  };
  Kind kind = Kind::constant;
  double scale = 0;         // value, deviation or bound
  std::uint64_t index = 0;  // layer_seeded_normal: the layer number that seeds its generator
  std::shared_ptr<const ConstantData> data = {};  // given: its elements
};

// For a value split among ranks: the whole it is a part of. `axis` is the split axis; -1: the elements are
// split in memory order, whatever the shape.
struct Part {
  Shape whole;
  int axis = 0;
  std::int64_t first = 0, count = 0;
};

struct Value {
  std::string name;
  TensorType type;
  Role role = Role::activation;
  NodeId producer = kNone;
  Initializer init;        // parameters, constants, states, scalars
  std::string layer;       // parameters: the layer that owns it
  bool penalized = false;  // parameters: whether L2 applies (weights, not biases)
  std::optional<Part> part = {};
};

// The part of a step's time that belongs to a layer. A fused node has several, weighted by analytic bytes.
struct Charge {
  std::string layer;
  Phase phase = Phase::forward;
  double share = 1;
};

struct Node {
  std::string op;
  Attrs attrs;
  std::vector<ValueId> inputs, outputs;
  std::string layer;  // the user's name for this part of the network
  Phase phase = Phase::forward;
  std::vector<Charge> charges;  // empty: everything to (layer, phase)
};

// Values and nodes in single assignment, in a valid order of execution. Independent of any device.
class Graph {
 public:
  ValueId add_value(Value value);
  // Infers the output types from the operator's schema; errors name the layer.
  std::vector<ValueId> add_node(std::string_view op, std::vector<ValueId> inputs, Attrs attrs,
                                std::string layer, Phase phase = Phase::forward);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Value& value(ValueId id) const { return values_.at(static_cast<std::size_t>(id)); }
  Value& value(ValueId id) { return values_.at(static_cast<std::size_t>(id)); }
  const Node& node(NodeId id) const { return nodes_.at(static_cast<std::size_t>(id)); }
  Problem problem(NodeId id) const;

  ValueId find(std::string_view name) const;  // kNone if there is no such value
  std::vector<ValueId> with_role(Role role) const;

  // For passes, which rewrite the whole list of nodes. Values are never renumbered.
  void replace_nodes(std::vector<Node> nodes);

  // Values the caller reads after a run; everything else may be overwritten or dropped.
  std::vector<ValueId> outputs;

  std::string text() const;
  std::string dot() const;

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
};

}  // namespace headroom
