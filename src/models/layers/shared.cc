#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "models/layers/types.h"
#include "ops/operator.h"

namespace headroom {

std::vector<OptionSpec> join(std::vector<OptionSpec> a, const std::vector<OptionSpec>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<OptionSpec>& weight_options() {
  using K = OptionKind;
  static const std::vector<OptionSpec> options = {{"bias", K::flag},      {"activation", K::text},
                                                  {"init", K::text},      {"init_scale", K::real},
                                                  {"init_bias", K::real}, {"init_index", K::integer}};
  return options;
}

Initializer bias_initializer_of(const Layer& layer) {
  return {Initializer::Kind::constant, layer.options.real("init_bias", 0)};
}

// Uniform within 1/sqrt(fan-in) by default: the first outputs are small, so the first loss is near
// log(classes), and a large learning rate with momentum works. "init" overrides it.
Initializer initializer_of(const Layer& layer, const Shape& weight, std::int64_t groups) {
  using Kind = Initializer::Kind;
  const std::string name = layer.options.text("init", "fan_in");
  const double scale = layer.options.real("init_scale", 0.01);
  if (scale < 0 && name != "constant")
    reject("layer '{}': init_scale is {}; a deviation must not be negative", layer.name, scale);
  if (name == "fan_in") return {Kind::fan_in};
  if (name == "he") return {Kind::he};
  if (name == "he_fan_out")  // an output reaches this many values of the next layer's input
    return {Kind::normal, std::sqrt(2 * double(weight[1] * groups) / double(weight.numel()))};
  if (name == "xavier") return {Kind::xavier};
  if (name == "orthonormal") return {Kind::orthonormal};
  if (name == "normal" || name == "gaussian") return {Kind::normal, scale};
  if (name == "uniform") return {Kind::uniform, scale};
  if (name == "constant") return {Kind::constant, scale};
  if (name == "course")
    return {Kind::layer_seeded_normal, scale,
            static_cast<std::uint64_t>(layer.options.integer("init_index"))};
  const std::vector<std::string> names = {"fan_in", "he",       "he_fan_out", "xavier",   "orthonormal",
                                          "normal", "gaussian", "uniform",    "constant", "course"};
  reject(nearest(name, names), "layer '{}': unknown init '{}'", layer.name, name);
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"none", "relu6"};
    for (const Operator& op : operators())
      if (op.schema.activation) list.push_back(op.schema.name);
    return list;
  }();
  return names;
}

ValueId with_activation(const LayerContext& c, ValueId value) {
  const std::string activation = c.layer.options.text("activation", "none");
  const std::vector<std::string>& names = activation_names();
  if (std::find(names.begin(), names.end(), activation) == names.end())
    reject(nearest(activation, names), "layer '{}': unknown activation '{}'", c.layer.name, activation);
  if (activation == "relu6") return c.emit("clip", {value}, {{"min", 0.0}, {"max", 6.0}});
  return activation == "none" ? value : c.emit(activation, {value});
}

ValueId flattened(const LayerContext& c) {
  const Shape x = c.graph.value(c.inputs[0]).type.shape;
  if (x.rank() == 2) return c.inputs[0];
  return c.emit("reshape", {c.inputs[0]}, {{"shape", Ints{x[0], x.without_first().numel()}}});
}

std::int64_t at_least_one(const LayerContext& c, std::string_view option) {
  const std::int64_t value = c.layer.options.integer(option);
  if (value < 1) reject("layer '{}': {} is {}; it must be at least 1", c.layer.name, option, value);
  return value;
}

Shape image_shape(const LayerContext& c) {
  const Shape x = c.graph.value(c.inputs[0]).type.shape;
  if (x.rank() != 4)
    reject("layer '{}': {} needs images (channels x height x width), but its input is {}", c.layer.name,
           c.layer.type, x.without_first().str());
  return x;
}

}  // namespace headroom
