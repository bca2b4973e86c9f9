#include "models/layers/types.h"
#include "ops/operator.h"

namespace headroom {
namespace {

// The layer's options become the operator's attributes, with the same names.
ValueId lower_same(const LayerContext& c) { return c.emit(c.layer.type, c.inputs, c.layer.options); }

ValueId lower_pair(const LayerContext& c) {
  const Shape a = c.graph.value(c.inputs[0]).type.shape, b = c.graph.value(c.inputs[1]).type.shape;
  if (a != b)
    reject("layer '{}': {} takes layers of equal shapes, not '{}' of {} and '{}' of {}", c.layer.name,
           c.layer.type, c.layer.from[0], a.without_first().str(), c.layer.from[1], b.without_first().str());
  return lower_same(c);
}

// Only training drops elements; the seed, the layer and the step decide which.
ValueId lower_dropout(const LayerContext& c) {
  const double rate = c.layer.options.real("rate", 0.5);
  if (!(rate >= 0 && rate < 1))
    reject("layer '{}': dropout's rate is {}; it must be at least 0 and below 1", c.layer.name, rate);
  if (!c.training || rate == 0) return c.inputs[0];
  const std::int64_t each = c.graph.value(c.inputs[0]).type.shape.numel() / c.items;
  return c.emit("dropout", {c.inputs[0], c.step()},
                {{"rate", rate}, {"key", c.number}, {"seed", c.seed}, {"first", c.first_item * each}});
}

}  // namespace

// Operators that are layers as they are, and dropout.
std::vector<LayerType> pointwise_layers() {
  using K = OptionKind;
  std::vector<LayerType> types;
  for (const Operator& op : operators()) {
    const OpSchema& schema = op.schema;
    if (!schema.layer) continue;
    std::vector<OptionSpec> options;
    for (const AttributeSpec& a : schema.attributes)
      options.push_back({a.name, a.words.empty() ? K::real : K::text});
    const bool pair = schema.elementwise == 2;
    types.push_back({schema.name, options, pair ? 2U : 1U, pair ? lower_pair : lower_same});
  }
  types.push_back({"dropout", {{"rate", K::real}}, 1, lower_dropout});
  return types;
}

}  // namespace headroom
