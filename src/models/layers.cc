#include "models/layers.h"

#include <algorithm>

#include "base/text.h"

namespace headroom {
namespace {

using Ints = std::vector<std::int64_t>;

// Uniform within 1/sqrt(fan-in) by default: small first outputs, so a first loss near log(classes), and room
// for a large learning rate with momentum. "init" overrides.
Initializer initializer_of(const Layer& layer) {
  using Kind = Initializer::Kind;
  const std::string name = layer.options.text("init", "fan_in");
  const double scale = layer.options.real("init_scale", 0.01);
  if (name == "fan_in") return {Kind::fan_in};
  if (name == "he") return {Kind::he};
  if (name == "xavier") return {Kind::xavier};
  if (name == "normal") return {Kind::normal, scale};
  if (name == "uniform") return {Kind::uniform, scale};
  if (name == "constant") return {Kind::constant, scale};
  if (name == "course")
    return {Kind::course_normal, scale, static_cast<std::uint64_t>(layer.options.integer("init_index"))};
  const std::vector<std::string> names = {"fan_in",  "he",       "xavier", "normal",
                                          "uniform", "constant", "course"};
  reject(nearest(name, names), "layer '{}': unknown init '{}'", layer.name, name);
}

ValueId with_activation(const LayerContext& c, ValueId value) {
  const std::string activation = c.layer.options.text("activation", "none");
  const std::vector<std::string> names = {"none", "relu", "sigmoid", "tanh"};
  if (std::find(names.begin(), names.end(), activation) == names.end())
    reject(nearest(activation, names), "layer '{}': unknown activation '{}'", c.layer.name, activation);
  return activation == "none" ? value : c.emit(activation, {value});
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
    reject("layer '{}': {} channels cannot be split into {} groups", c.layer.name, x[1], groups);
  Attrs attrs;
  copy_window(c.layer.options, attrs);
  if (groups != 1) attrs.set("groups", groups);
  std::vector<ValueId> operands = {c.inputs[0]};
  operands.push_back(
      c.parameter("weight", {maps, x[1] / groups, kernel[0], kernel[1]}, initializer_of(c.layer), true));
  if (c.layer.options.integer("bias", 1)) operands.push_back(c.parameter("bias", {maps}, {}, false));
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

ValueId lower_flatten(const LayerContext& c) {
  const Shape x = c.graph.value(c.inputs[0]).type.shape;
  if (x.rank() == 2) return c.inputs[0];
  return c.emit("reshape", {c.inputs[0]}, {{"shape", Ints{x[0], x.without_first().numel()}}});
}

// Images are flattened on the way in, as every framework's users expect of a classifier head.
ValueId lower_linear(const LayerContext& c) {
  const ValueId x = lower_flatten(c);
  const std::int64_t units = at_least_one(c, "units"), in = c.graph.value(x).type.shape[1];
  std::vector<ValueId> operands = {x, c.parameter("weight", {units, in}, initializer_of(c.layer), true)};
  if (c.layer.options.integer("bias", 1)) operands.push_back(c.parameter("bias", {units}, {}, false));
  return with_activation(c, c.emit("linear", operands));
}

ValueId lower_unary(const LayerContext& c) { return c.emit(c.layer.type, {c.inputs[0]}); }

ValueId lower_add(const LayerContext& c) {
  const Shape a = c.graph.value(c.inputs[0]).type.shape, b = c.graph.value(c.inputs[1]).type.shape;
  if (a != b)
    reject("layer '{}' adds '{}' of {} and '{}' of {}; a sum needs equal shapes", c.layer.name,
           c.layer.from[0], a.without_first().str(), c.layer.from[1], b.without_first().str());
  return c.emit("add", {c.inputs[0], c.inputs[1]});
}

const std::vector<LayerType>& layer_types() {
  using K = OptionKind;
  static const std::vector<OptionSpec> weights = {{"bias", K::flag},
                                                  {"activation", K::text},
                                                  {"init", K::text},
                                                  {"init_scale", K::real},
                                                  {"init_index", K::integer}};
  static const std::vector<OptionSpec> window = {
      {"kernel", K::pair, true}, {"stride", K::pair}, {"pad", K::padding}, {"dilation", K::pair}};
  auto join = [](std::vector<OptionSpec> a, const std::vector<OptionSpec>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  static const std::vector<LayerType> types = {
      {"conv2d", join(join(window, weights), {{"maps", K::integer, true}, {"groups", K::integer}}), 1,
       lower_conv2d},
      {"max_pool", join(window, {{"ceil_mode", K::flag}}), 1, lower_pool},
      {"avg_pool", join(window, {{"ceil_mode", K::flag}, {"count_include_pad", K::flag}}), 1, lower_pool},
      {"linear", join(weights, {{"units", K::integer, true}}), 1, lower_linear},
      {"relu", {}, 1, lower_unary},
      {"sigmoid", {}, 1, lower_unary},
      {"tanh", {}, 1, lower_unary},
      {"softmax", {}, 1, lower_unary},
      {"flatten", {}, 1, lower_flatten},
      {"add", {}, 2, lower_add},
  };
  return types;
}

}  // namespace

std::string_view stored_name(const OptionSpec& option) {
  if (option.name == "stride") return "strides";
  if (option.name == "dilation") return "dilations";
  return option.kind == OptionKind::padding ? "pads" : option.name;
}

ValueId LayerContext::emit(std::string_view op, std::vector<ValueId> operands, Attrs attrs) const {
  return graph.add_node(op, std::move(operands), std::move(attrs), layer.name).at(0);
}

ValueId LayerContext::parameter(std::string_view name, Shape shape, Initializer init, bool penalized) const {
  return graph.add_value({.name = fmt::format("{}.{}", layer.name, name),
                          .type = {shape, dtype},
                          .role = Role::parameter,
                          .producer = kNone,
                          .init = init,
                          .layer = layer.name,
                          .penalized = penalized});
}

const LayerType& layer_type(std::string_view name) {
  std::vector<std::string> names;
  for (const LayerType& type : layer_types()) {
    if (type.name == name) return type;
    names.emplace_back(type.name);
  }
  reject(nearest(name, names), "unknown layer type '{}'", name);
}

ValueId lower(const Net& net, Graph& graph, ValueId input, DType dtype) {
  if (net.layers.empty()) reject("network '{}' has no layers", net.name);
  std::vector<std::string> names = {"input"};
  std::vector<ValueId> values = {input};
  std::vector<bool> read = {false};
  auto take = [&](const Layer& layer, const std::string& from) {
    const auto it = std::find(names.begin(), names.end(), from);
    if (it == names.end())
      reject(nearest(from, names), "layer '{}' reads '{}', but no earlier layer is called so", layer.name,
             from);
    const auto index = static_cast<std::size_t>(it - names.begin());
    read[index] = true;
    return values[index];
  };
  for (const Layer& layer : net.layers) {
    LayerContext context{graph, layer, {}, dtype};
    for (const std::string& from : layer.from) context.inputs.push_back(take(layer, from));
    if (layer.from.empty()) context.inputs.push_back(take(layer, names.back()));
    values.push_back(layer_type(layer.type).lower(context));
    names.push_back(layer.name);
    read.push_back(false);
  }
  // A layer that leads nowhere would be dropped without a word; it is a "from" gone wrong.
  for (std::size_t i = 1; i + 1 < names.size(); ++i)
    if (!read[i])
      reject(Hint{"remove it, or name it in another layer's \"from\""},
             "layer '{}' is read by no other layer", names[i]);
  return values.back();
}

}  // namespace headroom
