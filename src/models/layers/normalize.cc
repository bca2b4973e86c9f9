#include "models/layers/types.h"

namespace headroom {
namespace {

const Initializer kOne{Initializer::Kind::constant, 1.0};

// Training normalises by the batch and keeps running statistics; evaluation uses the running statistics.
ValueId lower_batch_norm(const LayerContext& c) {
  const Shape x = c.graph.value(c.inputs[0]).type.shape;
  if (x.rank() < 2) reject("layer '{}': batch_norm needs channels, not {}", c.layer.name, x.str());
  const Shape channels{x[1]};
  const double epsilon = c.layer.options.real("epsilon", 1e-5);
  const Initializer scale{Initializer::Kind::constant, c.layer.options.real("init_scale", 1)};
  const std::vector<ValueId> operands = {
      c.inputs[0], c.parameter("weight", channels, scale, false), c.parameter("bias", channels, {}, false),
      c.statistic("running_mean", channels, {}), c.statistic("running_var", channels, kOne)};
  if (!c.training)
    return with_activation(c, c.emit("batch_norm_inference", operands, {{"epsilon", epsilon}}));
  const double momentum = c.layer.options.real("momentum", 0.1);
  return with_activation(c, c.emit("batch_norm", operands, {{"epsilon", epsilon}, {"momentum", momentum}}));
}

// From this axis to the last: all but the batch, or (-1) only the last.
ValueId lower_layer_norm(const LayerContext& c) {
  const Shape x = c.graph.value(c.inputs[0]).type.shape;
  const std::int64_t named = c.layer.options.integer("axis", 1), axis = named < 0 ? named + x.rank() : named;
  if (axis < 1 || axis >= x.rank())
    reject("layer '{}': layer_norm from axis {} of {}", c.layer.name, named, x.str());
  const Shape item(Ints(x.dims().begin() + axis, x.dims().end()));
  return with_activation(
      c, c.emit("layer_norm",
                {c.inputs[0], c.parameter("weight", item, kOne, false), c.parameter("bias", item, {}, false)},
                {{"axis", axis}, {"epsilon", c.layer.options.real("epsilon", 1e-5)}}));
}

ValueId lower_lrn(const LayerContext& c) {
  image_shape(c);
  return c.emit("lrn", {c.inputs[0]}, c.layer.options);
}

ValueId lower_local_contrast_norm(const LayerContext& c) {
  image_shape(c);
  return c.emit("local_contrast_norm", {c.inputs[0]}, c.layer.options);
}

}  // namespace

std::vector<LayerType> normalize_layers() {
  using K = OptionKind;
  return {
      {"batch_norm",
       {{"epsilon", K::real}, {"momentum", K::real}, {"activation", K::text}, {"init_scale", K::real}},
       1,
       lower_batch_norm},
      {"layer_norm",
       {{"axis", K::integer}, {"epsilon", K::real}, {"activation", K::text}},
       1,
       lower_layer_norm},
      {"lrn",
       {{"size", K::integer, true}, {"alpha", K::real}, {"beta", K::real}, {"bias", K::real}},
       1,
       lower_lrn},
      {"local_contrast_norm", {{"kernel", K::integer}}, 1, lower_local_contrast_norm},
  };
}

}  // namespace headroom
