#include "train/saved_network.h"

#include "base/error.h"
#include "base/json.h"
#include "base/shape.h"
#include "train/program.h"

namespace headroom {
namespace {

constexpr const char *kSpec = "spec", *kNetwork = "network";

std::string text_of(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

// The operators of a forward pass, in order. The batch is arbitrary but not 1, which could hide a broadcast.
Graph operators_of(const Net& net) { return make_forward(net, 2, DType::f32, Fusion::none).graph; }

std::string described(const Node& node) {
  const std::string options = node.attrs.str();
  return options.empty() ? node.op : fmt::format("{} ({})", node.op, options);
}

}  // namespace

std::string SavedNetwork::name() const { return !spec.empty() ? spec : net ? net->name : ""; }

void put_network(Metadata& metadata, const Net& net, const std::string& spec) {
  metadata["model"] = net.name;
  metadata["input"] = Shape(net.input).str();
  if (!spec.empty()) metadata[kSpec] = spec;
  if (!net.imported) metadata[kNetwork] = Json::parse(to_json_text(net)).dump();
}

SavedNetwork network_in(const Metadata& metadata, const std::string& where) {
  SavedNetwork saved{.spec = text_of(metadata, kSpec), .net = {}};
  if (const std::string network = text_of(metadata, kNetwork); !network.empty())
    saved.net = parse_net(network, fmt::format("the network stored in {}", where));
  return saved;
}

std::string difference_of(const Net& saved, const Net& net) {
  if (net.imported || saved.imported) return {};  // its operators are in another form
  Net now = net;
  now.input = saved.input;  // a network may run on images of another size
  Graph before, after;
  try {
    before = operators_of(saved), after = operators_of(now);
  } catch (const Error&) {
    return fmt::format("it takes an input of {}, not {}", Shape(saved.input).str(), Shape(net.input).str());
  }
  for (std::size_t i = 0; i < std::max(before.nodes().size(), after.nodes().size()); ++i) {
    if (i >= before.nodes().size()) return fmt::format("it has no layer '{}'", after.nodes()[i].layer);
    const Node& old = before.nodes()[i];
    if (i >= after.nodes().size()) return fmt::format("it has a layer '{}' more", old.layer);
    const Node& node = after.nodes()[i];
    if (old.op != node.op || !(old.attrs == node.attrs))
      return fmt::format("its layer '{}' computes {}, not {}", old.layer, described(old), described(node));
    if (old.inputs != node.inputs) return fmt::format("its layer '{}' reads other layers", old.layer);
  }
  return {};
}

}  // namespace headroom
