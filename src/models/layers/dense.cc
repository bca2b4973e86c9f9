#include "models/layers/types.h"

namespace headroom {
namespace {

// Flattens images, as users of other frameworks expect of a classifier head. A sequence (time x width) is not
// flattened: each of its rows goes through the layer.
ValueId lower_linear(const LayerContext& c) {
  const bool sequence = c.graph.value(c.inputs[0]).type.shape.rank() == 3;
  const ValueId x = sequence ? c.inputs[0] : flattened(c);
  const Shape shape = c.graph.value(x).type.shape;
  const std::int64_t units = at_least_one(c, "units"), in = shape[shape.rank() - 1];
  const Shape weight{units, in};
  std::vector<ValueId> operands = {x, c.parameter("weight", weight, initializer_of(c.layer, weight), true)};
  if (c.layer.options.integer("bias", 1))
    operands.push_back(c.parameter("bias", {units}, bias_initializer_of(c.layer), false));
  return with_activation(c, c.emit("linear", operands));
}

}  // namespace

std::vector<LayerType> dense_layers() {
  return {{"linear", join(weight_options(), {{"units", OptionKind::integer, true}}), 1, lower_linear}};
}

}  // namespace headroom
