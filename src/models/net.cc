#include "headroom/net.h"

#include <algorithm>

#include "base/text.h"
#include "models/layers.h"

namespace headroom {
namespace {

// Allows only options of this type, and requires the mandatory ones.
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

Net& Net::reads(const std::string& earlier) {
  if (layers.empty()) reject("network '{}' has no layer yet that could read '{}'", name, earlier);
  Layer& layer = layers.back();
  if (layer_type(layer.type).inputs != 1)
    reject("layer '{}': the inputs of '{}' were set when it was added", layer.name, layer.type);
  layer.from = {earlier};
  return *this;
}

Net& Net::append(Layer layer) {
  const LayerType& type = layer_type(layer.type);
  if (layer.name.empty()) layer.name = fmt::format("{}{}", layer.type, layers.size() + 1);
  if (layer.name == "input" || layer.name == "loss")
    reject(Hint{"rename it"}, "network '{}': no layer may be called '{}', which names the network's own {}",
           name, layer.name, layer.name);
  constexpr std::size_t kMaxLayers = 20'000;  // far beyond any that trains; more only costs time and memory
  if (layers.size() == kMaxLayers)
    reject(Hint{"take a smaller depth"}, "network '{}' has more than {} layers", name, kMaxLayers);
  if (std::any_of(layers.begin(), layers.end(), [&](const Layer& l) { return l.name == layer.name; }))
    reject(Hint{"rename one of them"}, "network '{}': two layers are called '{}'", name, layer.name);
  const std::size_t reads = layer.from.empty() ? 1 : layer.from.size();
  if (type.inputs == kTwoOrMore ? reads < 2 : reads != type.inputs)
    reject(Hint{R"(write "from": ["a", "b"])"}, "layer '{}': '{}' reads {} layers", layer.name, layer.type,
           type.inputs == kTwoOrMore ? std::string("two or more") : std::to_string(type.inputs));
  check_options(layer, type);
  layers.push_back(std::move(layer));
  return *this;
}

}  // namespace headroom
