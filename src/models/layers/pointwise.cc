#include "models/layers/types.h"

namespace headroom {
namespace {

// Options of the layer are attributes of the operator, under the same names.
ValueId lower_same(const LayerContext& c) { return c.emit(c.layer.type, c.inputs, c.layer.options); }

ValueId lower_pair(const LayerContext& c) {
  const Shape a = c.graph.value(c.inputs[0]).type.shape, b = c.graph.value(c.inputs[1]).type.shape;
  if (a != b)
    reject("layer '{}': {} takes layers of equal shapes, not '{}' of {} and '{}' of {}", c.layer.name,
           c.layer.type, c.layer.from[0], a.without_first().str(), c.layer.from[1], b.without_first().str());
  return lower_same(c);
}

// Only training drops anything; which elements is a function of the seed, the layer and the step.
ValueId lower_dropout(const LayerContext& c) {
  const double rate = c.layer.options.real("rate", 0.5);
  if (!(rate >= 0 && rate < 1))
    reject("layer '{}': dropout's rate is {}; it must lie in [0, 1)", c.layer.name, rate);
  if (!c.training || rate == 0) return c.inputs[0];
  const std::int64_t each = c.graph.value(c.inputs[0]).type.shape.numel() / c.items;
  return c.emit("dropout", {c.inputs[0], c.step()},
                {{"rate", rate}, {"key", c.number}, {"seed", c.seed}, {"first", c.first_item * each}});
}

}  // namespace

std::vector<LayerType> pointwise_layers() {
  using K = OptionKind;
  std::vector<LayerType> types;
  for (const char* name : {"relu", "sigmoid", "tanh", "softmax", "log_softmax", "hard_swish", "exp", "sqrt"})
    types.push_back({name, {}, 1, lower_same});
  types.push_back({"leaky_relu", {{"alpha", K::real}}, 1, lower_same});
  types.push_back({"elu", {{"alpha", K::real}}, 1, lower_same});
  types.push_back({"gelu", {{"approximate", K::text}}, 1, lower_same});
  types.push_back({"clip", {{"min", K::real}, {"max", K::real}}, 1, lower_same});
  types.push_back({"threshold", {{"threshold", K::real}, {"value", K::real}}, 1, lower_same});
  for (const char* name : {"add", "sub", "mul", "div"}) types.push_back({name, {}, 2, lower_pair});
  types.push_back({"dropout", {{"rate", K::real}}, 1, lower_dropout});
  return types;
}

}  // namespace headroom
