#include "cli/weights_file.h"

#include <algorithm>

#include "base/text.h"
#include "cli/options.h"
#include "models/zoo.h"
#include "train/saved_network.h"

namespace headroom::cli {
namespace {

std::string name_in(const std::string& spec) { return spec.substr(0, spec.find(':')); }

// "classes=10" and so on.
std::vector<std::string> options_in(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  return colon == std::string::npos ? std::vector<std::string>() : split(spec.substr(colon + 1), ',');
}

bool decided_by_data(const ZooEntry& entry, const std::string& option) {
  return std::ranges::any_of(entry.from_data, [&](const std::string& what) {
    return option == (what == "image" ? "input" : what);  // the sides of an image are the option input
  });
}

bool same_network(const std::string& a, const std::string& b) {
  const Net first = find_net(a), second = find_net(b);
  return first.input == second.input && to_json_text(first) == to_json_text(second);
}

// Long lists end in a count.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 6;
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(), names.begin() + std::ptrdiff_t(std::min(kMaxNames, names.size())), ", "));
  if (names.size() > kMaxNames) text += fmt::format(" and {} more", names.size() - kMaxNames);
  return text;
}

}  // namespace

std::string adopted(const std::string& model, const std::string& weights, bool new_head) {
  if (weights.empty() || weights.ends_with(".params")) return model;
  const auto entry = std::ranges::find(zoo(), name_in(model), &ZooEntry::name);
  if (entry == zoo().end()) return model;
  const SavedNetwork saved = network_in(read_safetensors_metadata(weights), weights);
  if (name_in(saved.spec) != entry->name) return model;
  const std::vector<std::string> given = options_in(model);
  std::string merged = model;
  for (const std::string& item : options_in(saved.spec)) {
    const std::string option = item.substr(0, item.find('='));
    if (new_head && decided_by_data(*entry, option)) continue;
    const bool asked = std::ranges::any_of(
        given, [&](const std::string& own) { return own.substr(0, own.find('=')) == option; });
    if (!asked) merged = with_option(merged, option, item.substr(option.size() + 1));
  }
  if (same_network(merged, model)) return model;
  // An option that contradicts the file: loading will refuse it, with the reason.
  if (saved.net && !difference_of(*saved.net, find_net(merged)).empty()) return merged;
  note(fmt::format("headroom: {} was saved from {}; using {}\n", weights, saved.spec,
                   same_network(merged, saved.spec) ? "that network" : merged));
  return merged;
}

void load(Engine& engine, const std::string& weights, bool new_head) {
  const LoadedWeights result = new_head ? load_without_head(engine, weights) : load_weights(engine, weights);
  if (new_head)
    note(fmt::format("headroom: {}: {} tensors loaded; new: {}; left out: {}\n", weights,
                     result.loaded.size(), listed(result.fresh),
                     result.left.empty() ? "none" : listed(result.left)));
  if (!result.ignored.empty())
    note(fmt::format("headroom: {}: ignored, since they are not weights: {}\n", weights,
                     listed(result.ignored)));
}

}  // namespace headroom::cli
