#include "models/zoo.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace headroom {

ModelOptions::ModelOptions(std::string_view model, std::string_view text) : model_(model) {
  if (text.empty()) return;
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      reject(Hint{fmt::format("write {}:name=value,name=value", model_)}, "model option '{}' has no value",
             item);
    values_[item.substr(0, equals)] = item.substr(equals + 1);
  }
}

const std::string* ModelOptions::take(const std::string& name) {
  known_.push_back(name);
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

std::int64_t ModelOptions::integer(const std::string& name, std::int64_t fallback) {
  const std::vector<std::int64_t> values = integers(name, {fallback});
  if (values.size() != 1) reject("{}'s option {} takes one number, not {}", model_, name, values.size());
  return values.front();
}

std::vector<std::int64_t> ModelOptions::integers(const std::string& name,
                                                 std::vector<std::int64_t> fallback) {
  const std::string* text = take(name);
  if (text == nullptr) return fallback;
  std::vector<std::int64_t> values;
  for (const std::string& part : split(*text, 'x')) {
    values.push_back(parse_int(part, fmt::format("{}'s option {}", model_, name)));
    constexpr std::int64_t kMost = 1 << 24;
    if (values.back() < 1 || values.back() > kMost)
      reject("{}'s option {} is {}; it must lie between 1 and {}", model_, name, values.back(), kMost);
  }
  return values;
}

std::string ModelOptions::choice(const std::string& name, const std::vector<std::string>& allowed) {
  const std::string* text = take(name);
  if (text == nullptr) return allowed.front();
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end())
    reject(nearest(*text, allowed), "{}'s option {} cannot be '{}'", model_, name, *text);
  return *text;
}

void ModelOptions::require_all_used() const {
  for (const auto& [name, value] : values_)
    if (std::find(known_.begin(), known_.end(), name) == known_.end())
      reject(nearest(name, known_), "model '{}' has no option '{}'", model_, name);
}

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = {
      {"mlp",
       "multi-layer perceptron",
       "hidden=512 (256x128 for two layers), activation=sigmoid|tanh|relu, input=784, classes=10",
       make_mlp,
       {.batch = 64, .epochs = 5, .lr = 0.1, .momentum = 0.9}},
      {"lenet5",
       "LeNet-5 with a dense C3, 32x32 images",
       "activation=relu|tanh|sigmoid, pool=max|avg, classes=10",
       make_lenet5,
       {.batch = 64, .epochs = 3, .lr = 0.02, .momentum = 0.9}},
  };
  return entries;
}

TrainDefaults train_defaults(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  for (const ZooEntry& entry : zoo())
    if (entry.name == name) return entry.defaults;
  return {};
}

std::string with_option(std::string_view spec, const std::string& name, const std::string& value) {
  const std::size_t colon = spec.find(':');
  std::string result(spec.substr(0, colon));
  std::string options = fmt::format("{}={}", name, value);
  if (colon != std::string_view::npos)
    for (const std::string& item : split(spec.substr(colon + 1), ','))
      if (!item.starts_with(name + "=")) options += "," + item;
  return result + ":" + options;
}

Net find_net(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(':'));
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) {
    names.push_back(entry.name);
    if (entry.name != name) continue;
    ModelOptions options(name, name.size() == spec.size() ? "" : spec.substr(name.size() + 1));
    Net net = entry.make(options);
    options.require_all_used();
    return net;
  }
  std::error_code ignored;
  if (spec.ends_with(".json") || spec.find('/') != std::string::npos ||
      std::filesystem::exists(spec, ignored))
    return read_net(spec);
  if (name.ends_with(".json")) reject("{} is a file, so it takes no options; edit it instead", name);
  reject(nearest(name, names), "unknown model '{}'", name);
}

}  // namespace headroom
