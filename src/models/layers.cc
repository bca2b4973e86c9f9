#include "models/layers.h"

#include <algorithm>

#include "base/text.h"
#include "models/layers/types.h"

namespace headroom {

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> types = [] {
    std::vector<LayerType> all;
    for (auto family : {window_layers, dense_layers, pointwise_layers, normalize_layers, arrange_layers,
                        sequence_layers, recurrent_layers})
      for (LayerType& type : family()) all.push_back(std::move(type));
    return all;
  }();
  return types;
}

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

ValueId LayerContext::statistic(std::string_view name, Shape shape, Initializer init) const {
  return graph.add_value({.name = fmt::format("{}.{}", layer.name, name),
                          .type = {shape, dtype},
                          .role = Role::state,
                          .producer = kNone,
                          .init = init,
                          .layer = layer.name});
}

ValueId LayerContext::step() const { return step_scalar(graph); }

ValueId step_scalar(Graph& graph) {
  if (const ValueId id = graph.find(kStep); id != kNone) return id;
  return graph.add_value({.name = kStep,
                          .type = {{1}, DType::f64},
                          .role = Role::scalar,
                          .producer = kNone,
                          .init = {},
                          .layer = {}});
}

const LayerType& layer_type(std::string_view name) {
  std::vector<std::string> names;
  for (const LayerType& type : layer_types()) {
    if (type.name == name) return type;
    names.emplace_back(type.name);
  }
  reject(nearest(name, names), "unknown layer type '{}'", name);
}

ValueId lower(const Net& net, Graph& graph, ValueId input, const Lowering& how) {
  if (net.layers.empty())
    reject(Hint{R"(add "layers": [{"type": "linear", "units": 10}])"}, "network '{}' has no layers",
           net.name);
  std::vector<std::string> names = {"input"};
  std::vector<ValueId> values = {input};
  std::vector<bool> read = {false};
  auto take = [&](const Layer& layer, const std::string& from) {
    const auto it = std::find(names.begin(), names.end(), from);
    if (it == names.end())
      reject(nearest(from, names), "layer '{}' reads '{}', but no earlier layer has that name", layer.name,
             from);
    const auto index = static_cast<std::size_t>(it - names.begin());
    read[index] = true;
    return values[index];
  };
  for (const Layer& layer : net.layers) {
    LayerContext context{graph,     layer,        static_cast<std::int64_t>(names.size()),  {},
                         how.dtype, how.training, static_cast<std::int64_t>(how.seed >> 1), how.first_item,
                         how.items};
    for (const std::string& from : layer.from) context.inputs.push_back(take(layer, from));
    if (layer.from.empty()) context.inputs.push_back(take(layer, names.back()));
    values.push_back(layer_type(layer.type).lower(context));
    names.push_back(layer.name);
    read.push_back(false);
  }
  // A layer that nothing reads would be dropped silently; it means a wrong "from".
  for (std::size_t i = 1; i + 1 < names.size(); ++i)
    if (!read[i])
      reject(Hint{"remove it, or name it in another layer's \"from\""},
             "layer '{}' is not used: no other layer reads it", names[i]);
  return values.back();
}

}  // namespace headroom
