#include "headroom/net.h"

#include <algorithm>

#include "base/text.h"
#include "models/layers.h"

namespace headroom {
namespace {

using Ints = std::vector<std::int64_t>;

void set_pair(Attrs& attrs, const char* name, const Pair& pair) { attrs.set(name, Ints{pair.h, pair.w}); }

void set_padding(Attrs& attrs, const Padding& pad) {
  if (!pad.same.empty())
    attrs.set("auto_pad", pad.same);
  else if (pad.top || pad.left || pad.bottom || pad.right)
    attrs.set("pads", Ints{pad.top, pad.left, pad.bottom, pad.right});
}

Attrs pool_options(const Pool& o) {
  Attrs attrs;
  set_pair(attrs, "kernel", o.kernel);
  if (o.stride.h != 0) set_pair(attrs, "strides", o.stride);
  set_padding(attrs, o.pad);
  if (o.dilation.h != 1 || o.dilation.w != 1) set_pair(attrs, "dilations", o.dilation);
  if (o.ceil_mode) attrs.set("ceil_mode", std::int64_t{1});
  return attrs;
}

// Options of this type only, and all that it cannot do without.
void check_options(const Layer& layer, const LayerType& type) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : type.options) {
    known.emplace_back(stored_name(spec));
    if (spec.kind == OptionKind::padding) known.emplace_back("auto_pad");
    if (spec.required && !layer.options.has(stored_name(spec)))
      reject("layer '{}': {} needs \"{}\"", layer.name, layer.type, spec.name);
  }
  for (const auto& [name, value] : layer.options)
    if (std::find(known.begin(), known.end(), name) == known.end())
      reject(nearest(name, known), "layer '{}': {} has no option '{}'", layer.name, layer.type, name);
}

}  // namespace

Net& Net::conv2d(const std::string& layer, const Convolution& o) {
  Attrs attrs{{"maps", o.maps}};
  set_pair(attrs, "kernel", o.kernel);
  if (o.stride.h != 1 || o.stride.w != 1) set_pair(attrs, "strides", o.stride);
  set_padding(attrs, o.pad);
  if (o.dilation.h != 1 || o.dilation.w != 1) set_pair(attrs, "dilations", o.dilation);
  if (o.groups != 1) attrs.set("groups", o.groups);
  if (!o.bias) attrs.set("bias", std::int64_t{0});
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  return append({"conv2d", layer, {}, attrs});
}

Net& Net::max_pool(const std::string& layer, const Pool& o) {
  return append({"max_pool", layer, {}, pool_options(o)});
}

Net& Net::avg_pool(const std::string& layer, const Pool& o) {
  Attrs attrs = pool_options(o);
  if (!o.count_include_pad) attrs.set("count_include_pad", std::int64_t{0});
  return append({"avg_pool", layer, {}, attrs});
}

Net& Net::linear(const std::string& layer, const Linear& o) {
  Attrs attrs{{"units", o.units}};
  if (!o.bias) attrs.set("bias", std::int64_t{0});
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  return append({"linear", layer, {}, attrs});
}

Net& Net::batch_norm(const std::string& layer, const BatchNorm& o) {
  Attrs attrs{{"epsilon", o.epsilon}, {"momentum", o.momentum}};
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  return append({"batch_norm", layer, {}, attrs});
}

Net& Net::dropout(const std::string& layer, double rate) {
  return append({"dropout", layer, {}, {{"rate", rate}}});
}

Net& Net::concat(const std::string& layer, const std::vector<std::string>& parts) {
  return append({"concat", layer, parts, {}});
}

Net& Net::global_avg_pool(const std::string& layer) { return append({"global_avg_pool", layer, {}, {}}); }
Net& Net::relu(const std::string& layer) { return append({"relu", layer, {}, {}}); }
Net& Net::sigmoid(const std::string& layer) { return append({"sigmoid", layer, {}, {}}); }
Net& Net::tanh(const std::string& layer) { return append({"tanh", layer, {}, {}}); }
Net& Net::softmax(const std::string& layer) { return append({"softmax", layer, {}, {}}); }
Net& Net::flatten(const std::string& layer) { return append({"flatten", layer, {}, {}}); }
Net& Net::add(const std::string& layer, const std::string& a, const std::string& b) {
  return append({"add", layer, {a, b}, {}});
}

Net& Net::append(Layer layer) {
  const LayerType& type = layer_type(layer.type);
  if (layer.name.empty()) layer.name = fmt::format("{}{}", layer.type, layers.size() + 1);
  if (layer.name == "input" || layer.name == "loss")
    reject("network '{}': no layer may be called '{}', which names the network's own {}", name, layer.name,
           layer.name);
  if (std::any_of(layers.begin(), layers.end(), [&](const Layer& l) { return l.name == layer.name; }))
    reject("network '{}': two layers are called '{}'", name, layer.name);
  const std::size_t reads = layer.from.empty() ? 1 : layer.from.size();
  if (type.inputs == kTwoOrMore ? reads < 2 : reads != type.inputs)
    reject(Hint{R"(write "from": ["a", "b"])"}, "layer '{}': '{}' reads {} layers", layer.name, layer.type,
           type.inputs == kTwoOrMore ? std::string("two or more") : std::to_string(type.inputs));
  check_options(layer, type);
  layers.push_back(std::move(layer));
  return *this;
}

}  // namespace headroom
