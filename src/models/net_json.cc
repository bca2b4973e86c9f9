// net.json: {"name", "input": [1,32,32], "layers": [{"type": "conv2d", "name": "C1", "maps": 6, "kernel": 5},
// …]}.
#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "headroom/net.h"
#include "models/layers.h"

namespace headroom {
namespace {

using Ints = std::vector<std::int64_t>;

// Above this, products of two could overflow; windows have the same limit.
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

struct Reader {
  const std::string& origin;

  template <class... Args>
  [[noreturn]] void wrong(const std::string& layer, fmt::format_string<Args...> text, Args&&... args) const {
    const std::string place = layer.empty() ? "" : fmt::format("layer '{}': ", layer);
    reject("{}: {}{}", origin, place, fmt::format(text, std::forward<Args>(args)...));
  }

  std::int64_t integer(const Json& json, const std::string& layer, std::string_view option) const {
    if (!json.is_number_integer()) wrong(layer, "{} must be a whole number", option);
    const bool huge = json.is_number_unsigned() ? json.get<std::uint64_t>() > std::uint64_t{kLargest}
                                                : json.get<std::int64_t>() < -kLargest;
    if (huge) wrong(layer, "{} is {}; the max is {}", option, json.dump(), kLargest);
    return json.get<std::int64_t>();
  }

  Ints integers(const Json& json, const std::string& layer, std::string_view option, std::size_t one,
                std::size_t many) const {
    Ints values;
    if (json.is_number()) values.assign(one, integer(json, layer, option));
    if (json.is_array())
      for (const Json& item : json) values.push_back(integer(item, layer, option));
    if (values.size() != one && values.size() != many)
      wrong(layer, "{} must be a number or {} of them", option, many);
    return values;
  }

  void set_padding(Layer& layer, const std::string& shown, const Json& json) const {
    if (json.is_string()) {
      const std::string word = json.get<std::string>();
      if (word == "valid") return;
      if (word != "same" && word != "same_upper" && word != "same_lower")
        wrong(shown, "pad is '{}'; it must be same, same_lower, valid or numbers", word);
      layer.options.set("auto_pad", word == "same" ? std::string("same_upper") : word);
      return;
    }
    Ints pads = integers(json, shown, "pad", 2, 4);
    if (pads.size() == 2) pads = {pads[0], pads[1], pads[0], pads[1]};
    layer.options.set("pads", pads);
  }

  void set(Layer& layer, const std::string& shown, const OptionSpec& spec, const Json& json) const {
    const std::string name(stored_name(spec));
    switch (spec.kind) {
      case OptionKind::padding:
        return set_padding(layer, shown, json);
      case OptionKind::pair:
        return layer.options.set(name, integers(json, shown, spec.name, 2, 2));
      case OptionKind::integers:
        if (!json.is_array()) wrong(shown, "{} must be a list of whole numbers", spec.name);
        return layer.options.set(name, integers(json, shown, spec.name, json.size(), json.size()));
      case OptionKind::integer:
        return layer.options.set(name, integer(json, shown, spec.name));
      case OptionKind::real:
        if (!json.is_number()) wrong(shown, "{} must be a number", spec.name);
        return layer.options.set(name, json.get<double>());
      case OptionKind::flag:
        if (!json.is_boolean()) wrong(shown, "{} must be true or false", spec.name);
        return layer.options.set(name, std::int64_t{json.get<bool>()});
      case OptionKind::text:
        if (!json.is_string()) wrong(shown, "{} must be a word", spec.name);
        return layer.options.set(name, json.get<std::string>());
    }
  }

  Layer layer(const Json& json, std::size_t number) const {
    if (!json.is_object() || !json.contains("type") || !json["type"].is_string())
      reject(Hint{R"(write {"type": "conv2d", "name": "C1", "maps": 6, "kernel": 5})"},
             "{}: layer number {} needs a \"type\"", origin, number + 1);
    Layer layer{json["type"].get<std::string>(), {}, {}, {}};
    std::string shown = fmt::format("{}{}", layer.type, number + 1);  // its future name, unless it has one
    if (json.contains("name")) {
      if (!json["name"].is_string()) wrong(shown, "name must be a word");
      layer.name = json["name"].get<std::string>();
      if (!layer.name.empty()) shown = layer.name;
    }
    const LayerType& type = layer_type(layer.type);
    std::vector<std::string> known = {"type", "name", "from"};
    for (const OptionSpec& spec : type.options) known.emplace_back(spec.name);
    for (const auto& [key, value] : json.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end())
        reject(nearest(key, known), "{}: layer '{}': {} has no option '{}'", origin, shown, layer.type, key);
      for (const OptionSpec& spec : type.options)
        if (spec.name == key) set(layer, shown, spec, value);
    }
    for (const OptionSpec& spec : type.options)
      if (spec.required && !json.contains(spec.name)) wrong(shown, "{} needs \"{}\"", layer.type, spec.name);
    if (json.contains("from")) {
      if (!json["from"].is_array()) wrong(shown, "from must be a list of layer names");
      for (const Json& name : json["from"]) {
        if (!name.is_string()) wrong(shown, "from must be a list of layer names");
        layer.from.push_back(name.get<std::string>());
      }
    }
    return layer;
  }
};

}  // namespace

Net parse_net(const std::string& text, const std::string& origin) {
  const Hint shape{R"(a network is {"name": ..., "input": [1, 32, 32], "layers": [{"type": ...}, ...]})"};
  const Json json = parse_object(text, origin, shape);
  const std::vector<std::string> keys = {"name", "input", "layers", "loss", "comment"};
  for (const auto& [key, value] : json.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      reject(nearest(key, keys), "{}: unknown key '{}'", origin, key);
  const Reader reader{origin};
  if (!json.contains("input") || !json["input"].is_array() || json["input"].empty() ||
      json["input"].size() > 3)
    reject(Hint{R"(write "input": [1, 32, 32] or [784])"}, "{}: \"input\" must list the extents of one image",
           origin);
  const Ints input = reader.integers(json["input"], "", "input", json["input"].size(), json["input"].size());
  for (std::int64_t extent : input)
    if (extent < 1) reject("{}: input has an extent of {}; it must be at least 1", origin, extent);
  if (!json.contains("layers") || !json["layers"].is_array()) reject("{}: \"layers\" must be a list", origin);

  if (json.contains("name") && !json["name"].is_string()) reject("{}: \"name\" must be a word", origin);
  if (json.contains("loss") && !json["loss"].is_string()) reject("{}: \"loss\" must be a word", origin);
  Net net(json.value("name", origin), input);
  net.loss = json.value("loss", net.loss);
  try {
    for (std::size_t i = 0; i < json["layers"].size(); ++i) net.append(reader.layer(json["layers"][i], i));
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.starts_with(origin)) throw;
    throw Error(error.blame(), fmt::format("{}: {}", origin, what), Hint{error.hint()});
  }
  return net;
}

Net read_net(const std::string& path) { return parse_net(read_file(path), path); }

// One layer per line, so that the file reads like a list of layers.
std::string to_json_text(const Net& net) {
  std::string text =
      fmt::format("{{\n  \"name\": {},\n  \"input\": {},\n", Json(net.name).dump(), Json(net.input).dump());
  if (net.loss != kCrossEntropy) text += fmt::format("  \"loss\": {},\n", Json(net.loss).dump());
  text += "  \"layers\": [";
  for (const Layer& layer : net.layers) {
    Json item = {{"type", layer.type}, {"name", layer.name}};
    if (!layer.from.empty()) item["from"] = layer.from;
    for (const OptionSpec& spec : layer_type(layer.type).options) {
      const std::string_view stored = stored_name(spec);
      if (spec.kind == OptionKind::padding && layer.options.has("auto_pad"))
        item["pad"] = layer.options.text("auto_pad");
      if (!layer.options.has(stored)) continue;
      switch (spec.kind) {
        case OptionKind::integer:
          item[spec.name] = layer.options.integer(stored);
          break;
        case OptionKind::real:
          item[spec.name] = layer.options.real(stored);
          break;
        case OptionKind::flag:
          item[spec.name] = layer.options.integer(stored) != 0;
          break;
        case OptionKind::text:
          item[spec.name] = layer.options.text(stored);
          break;
        case OptionKind::pair:
        case OptionKind::padding:
        case OptionKind::integers:
          item[spec.name] = layer.options.integers(stored);
          break;
      }
    }
    text += fmt::format("{}\n    {}", &layer == &net.layers.front() ? "" : ",", item.dump());
  }
  return text + "\n  ]\n}\n";
}

}  // namespace headroom
