#include "models/layers/types.h"

namespace headroom {
namespace {

void copy_window(const Attrs& from, Attrs& to) {
  for (const char* name : {"strides", "dilations", "pads"})
    if (from.has(name)) to.set(name, from.integers(name));
  if (from.has("auto_pad")) to.set("auto_pad", from.text("auto_pad"));
}

ValueId lower_conv2d(const LayerContext& c) {
  const Shape x = image_shape(c);
  const std::int64_t maps = at_least_one(c, "maps"), groups = c.layer.options.integer("groups", 1);
  const Ints kernel = c.layer.options.integers("kernel");
  if (groups < 1 || x[1] % groups != 0)
    reject(Hint{"channels and maps must be multiples of \"groups\""},
           "layer '{}': {} channels cannot be split into {} groups", c.layer.name, x[1], groups);
  Attrs attrs;
  copy_window(c.layer.options, attrs);
  if (groups != 1) attrs.set("groups", groups);
  const Shape weight{maps, x[1] / groups, kernel[0], kernel[1]};
  std::vector<ValueId> operands = {
      c.inputs[0], c.parameter("weight", weight, initializer_of(c.layer, weight, groups), true)};
  if (c.layer.options.integer("bias", 1))
    operands.push_back(c.parameter("bias", {maps}, bias_initializer_of(c.layer), false));
  return with_activation(c, c.emit("conv2d", operands, attrs));
}

ValueId lower_pool(const LayerContext& c) {
  image_shape(c);
  Attrs attrs{{"kernel", c.layer.options.integers("kernel")}};
  copy_window(c.layer.options, attrs);
  if (c.layer.options.integer("ceil_mode")) attrs.set("ceil_mode", std::int64_t{1});
  if (c.layer.type == "avg_pool")
    attrs.set("count_include_pad", c.layer.options.integer("count_include_pad", 1));
  return c.emit(c.layer.type, {c.inputs[0]}, attrs);
}

ValueId lower_global_pool(const LayerContext& c) {
  image_shape(c);
  return c.emit(c.layer.type, {c.inputs[0]});
}

ValueId lower_adaptive_pool(const LayerContext& c) {
  image_shape(c);
  return c.emit(c.layer.type, {c.inputs[0]}, {{"output", c.layer.options.integers("output")}});
}

}  // namespace

std::vector<LayerType> window_layers() {
  using K = OptionKind;
  const std::vector<OptionSpec> window = {
      {"kernel", K::pair, true}, {"stride", K::pair}, {"pad", K::padding}, {"dilation", K::pair}};
  const std::vector<OptionSpec> output = {{"output", K::pair, true}};
  return {
      {"conv2d", join(join(window, weight_options()), {{"maps", K::integer, true}, {"groups", K::integer}}),
       1, lower_conv2d},
      {"max_pool", join(window, {{"ceil_mode", K::flag}}), 1, lower_pool},
      {"avg_pool", join(window, {{"ceil_mode", K::flag}, {"count_include_pad", K::flag}}), 1, lower_pool},
      {"global_avg_pool", {}, 1, lower_global_pool},
      {"global_max_pool", {}, 1, lower_global_pool},
      {"adaptive_avg_pool", output, 1, lower_adaptive_pool},
      {"adaptive_max_pool", output, 1, lower_adaptive_pool},
  };
}

}  // namespace headroom
