#include "models/zoo.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "base/text.h"
#include "models/convnet.h"
#include "models/onnx/imported.h"
#include "models/transformers.h"

namespace headroom {

ModelOptions::ModelOptions(std::string_view model, std::string_view text) : model_(model) {
  for (Setting& setting : parse_settings(text, "model option", model_ + ":name=value,name=value"))
    values_[setting.name] = std::move(setting.value);
}

const std::string* ModelOptions::take(const std::string& name) {
  known_.push_back(name);
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

std::int64_t ModelOptions::integer(const std::string& name, std::int64_t fallback) {
  const std::vector<std::int64_t> values = integers(name, {fallback});
  if (values.size() != 1)
    reject(Hint{fmt::format("write {}:{}={}", model_, name, values.front())},
           "{}'s option {} takes one number, not {}", model_, name, values.size());
  return values.front();
}

std::vector<std::int64_t> ModelOptions::integers(const std::string& name,
                                                 std::vector<std::int64_t> fallback) {
  const std::string* text = take(name);
  if (text == nullptr) return fallback;
  std::vector<std::int64_t> values;
  for (const std::string& part : split(*text, 'x')) {
    values.push_back(parse_int(part, fmt::format("{}'s option {}", model_, name)));
    constexpr std::int64_t kMax = 1 << 24;
    if (values.back() < 1 || values.back() > kMax)
      reject("{}'s option {} is {}; it must lie between 1 and {}", model_, name, values.back(), kMax);
  }
  return values;
}

double ModelOptions::real(const std::string& name, double fallback) {
  const std::string* text = take(name);
  return text == nullptr ? fallback : parse_double(*text, fmt::format("{}'s option {}", model_, name));
}

bool ModelOptions::flag(const std::string& name, bool fallback) {
  return choice(name, fallback ? std::vector<std::string>{"on", "off"}
                               : std::vector<std::string>{"off", "on"}) == "on";
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

namespace {

std::vector<ZooEntry> first_entries() {
  return {
      {"mlp",
       "multi-layer perceptron",
       "hidden=512 (256x128 for two layers), activation=sigmoid|tanh|relu, input=784, classes=10",
       make_mlp,
       {.batch = 64, .epochs = 5, .lr = 0.1, .momentum = 0.9},
       {"input", "classes"}},
      {"lenet5",
       "LeNet-5 with a dense C3, 32x32 images",
       "activation=relu|tanh|sigmoid, pool=max|avg, channels=1, classes=10",
       make_lenet5,
       {.batch = 64, .epochs = 3, .lr = 0.02, .momentum = 0.9},
       {"channels", "classes"}},
      {"lenet-caffe",
       "LeNet of Caffe's example (20-50-500-10), 28x28 images",
       "channels=1, classes=10",
       make_lenet_caffe,
       {.batch = 64, .epochs = 3, .lr = 0.01, .momentum = 0.9, .weight_decay = 0.0005},
       {"channels", "classes"}},
      {"ece408",
       "the GPU convolution course's network, 72x72 images",
       "term=2018fa|2017fa|2018sp|2019sp|2019fa|2020fa, classes=10",
       make_ece408,
       {.batch = 100,
        .epochs = 3,
        .lr = 0.0002,
        .momentum = 0,
        .optimizer = "adam",
        .pixels = "raw",
        .resize = "zero"},
       {"classes"}},
      {"autoencoder",
       "learns to reconstruct its input through a narrow layer",
       "hidden=256x64, activation=relu|tanh|sigmoid, input=784",
       make_autoencoder,
       {.batch = 64, .epochs = 3, .lr = 0.001, .momentum = 0, .optimizer = "adam", .pixels = "scaled"},
       {"input"}},
      {"rnn",
       "recurrent network: rows of an image, or bytes of a text",
       "cell=lstm|gru|plain, hidden=128, layers=1, bidirectional=off, data=images|text; images: input=28 "
       "(rows x columns), channels=1, classes=10; text: context=128, vocab=256, width=hidden",
       make_rnn,
       {.batch = 64, .epochs = 3, .lr = 0.002, .momentum = 0, .optimizer = "adam", .clip_norm = 1},
       {"channels", "image", "classes", "data"}},
  };
}

}  // namespace

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = [] {
    std::vector<ZooEntry> list = first_entries();
    for (ZooEntry& entry : convnet_entries()) list.push_back(std::move(entry));
    for (ZooEntry& entry : transformer_entries()) list.push_back(std::move(entry));
    return list;
  }();
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

namespace {

// Sets an option that the data decides, if the entry has it and the user has not set it.
void decide(const ZooEntry& entry, std::string& spec, const std::string& what, const std::string& option,
            const std::string& value) {
  const std::size_t colon = spec.find(':');
  const std::string given = ',' + (colon == std::string::npos ? "" : spec.substr(colon + 1));
  if (std::ranges::find(entry.from_data, what) == entry.from_data.end()) return;
  if (given.find(',' + option + '=') == std::string::npos) spec = with_option(spec, option, value);
}

const ZooEntry* entry_of(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto it = std::ranges::find(zoo(), name, &ZooEntry::name);
  return it == zoo().end() ? nullptr : &*it;
}

}  // namespace

std::string fitted_to(const std::string& spec, const std::vector<std::int64_t>& image, std::int64_t classes) {
  const ZooEntry* entry = entry_of(spec);
  std::string fitted = spec;
  if (entry == nullptr) return fitted;
  decide(*entry, fitted, "channels", "channels", std::to_string(image.at(0)));
  decide(*entry, fitted, "input", "input",
         std::to_string(std::accumulate(image.begin(), image.end(), std::int64_t{1}, std::multiplies<>())));
  if (image.size() == 3)
    decide(*entry, fitted, "image", "input",
           image[1] == image[2] ? std::to_string(image[1]) : fmt::format("{}x{}", image[1], image[2]));
  decide(*entry, fitted, "classes", "classes", std::to_string(classes));
  return fitted;
}

std::string fitted_to_text(const std::string& spec) {
  std::string fitted = spec;
  if (const ZooEntry* entry = entry_of(spec)) decide(*entry, fitted, "data", "data", "text");
  return fitted;
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
  if (is_onnx_name(spec)) return read_onnx(spec);
  std::error_code ignored;
  if (spec.ends_with(".json") || spec.find('/') != std::string::npos ||
      std::filesystem::exists(spec, ignored))
    return read_net(spec);
  if (name.ends_with(".json")) reject(Hint{"edit it instead"}, "{} is a file, so it takes no options", name);
  reject(nearest(name, names), "unknown model '{}'", name);
}

}  // namespace headroom
