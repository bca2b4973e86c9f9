#include "train/freeze.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"

namespace headroom {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

// A network has hundreds of names: shows those that share most of the pattern's letters.
Hint near_names(const std::string& pattern, std::vector<std::string> names) {
  std::string letters = pattern;
  std::erase_if(letters, [](char c) { return c == '*' || c == '?'; });
  const auto shared = [&](const std::string& name) {  // length of the longest part of the pattern in it
    for (std::size_t length = letters.size(); length > 0; --length)
      for (std::size_t i = 0; i + length <= letters.size(); ++i)
        if (name.find(letters.substr(i, length)) != std::string::npos) return length;
    return std::size_t{0};
  };
  constexpr std::size_t kShown = 8;
  std::ranges::stable_sort(names, std::ranges::greater{}, shared);
  const bool more = names.size() > kShown;
  names.resize(std::min(names.size(), kShown));
  return {fmt::format("near names: {}{}; headroom model show MODEL `trainable` lists all",
                      fmt::join(names, ", "), more ? ", …" : "")};
}

// Its statistics are frozen: the layer then computes as it does in evaluation.
bool uses_frozen_statistics(const Graph& graph, const Node& node, const std::set<std::string>& names) {
  if (node.op != "batch_norm") return false;
  const std::string &mean = graph.value(node.inputs.at(3)).name,
                    &variance = graph.value(node.inputs.at(4)).name;
  if (names.contains(mean) != names.contains(variance))
    reject(Hint{"freeze both of its statistics, or none"},
           "`freeze` matches '{}', but not '{}', of layer '{}'", names.contains(mean) ? mean : variance,
           names.contains(mean) ? variance : mean, node.layer);
  return names.contains(mean);
}

}  // namespace

std::vector<std::string> parse_freeze(const std::vector<std::string>& texts) {
  std::set<std::string> patterns;
  for (const std::string& text : texts)
    for (const std::string& pattern : split(text, ',')) {
      if (pattern.empty())
        reject(Hint{"write `freeze` 'conv*,fc.bias'"}, "`freeze` '{}' has an empty pattern", text);
      patterns.insert(pattern);
    }
  return {patterns.begin(), patterns.end()};
}

std::set<std::string> frozen_names(const Graph& graph, const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (Role role : {Role::parameter, Role::state})
    for (ValueId id : graph.with_role(role))
      if (graph.value(id).producer == kNone) names.push_back(graph.value(id).name);
  std::set<std::string> frozen;
  for (const std::string& pattern : patterns) {
    const std::size_t before = frozen.size();
    bool found = false;
    for (const std::string& name : names)
      if (matches(pattern, name)) frozen.insert(name), found = true;
    if (!found && before == frozen.size())
      reject(near_names(pattern, names), "`freeze` '{}' matches no parameter", pattern);
  }
  return frozen;
}

void freeze(Graph& graph, const std::set<std::string>& names) {
  bool left = names.empty();
  for (ValueId id : graph.with_role(Role::parameter)) {
    Value& value = graph.value(id);
    if (names.contains(value.name))
      value.penalized = false;
    else
      left = true;
  }
  if (!left) reject(Hint{"`freeze` fewer parameters"}, "all parameters are frozen: nothing is left to train");
  std::vector<Node> nodes = graph.nodes();
  for (Node& node : nodes) {
    if (!uses_frozen_statistics(graph, node, names)) continue;
    node.op = "batch_norm_inference";
    node.attrs = {{"epsilon", node.attrs.real("epsilon", 1e-5)}};
    node.outputs.resize(1);
  }
  graph.replace_nodes(std::move(nodes));
}

}  // namespace headroom
