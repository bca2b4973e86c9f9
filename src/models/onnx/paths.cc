#include "models/onnx/paths.h"

#include <algorithm>
#include <map>

#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {
namespace {

Path through(Path path, const Use& use) {
  static const std::set<std::string_view> functions = {"Exp", "Softplus", "Sigmoid", "Tanh", "Softmax"};
  const std::string& op = use.node->op_type();
  path.weighs = path.weighs || (path.moved && is_weight_input(op, use.input));
  path.angle = path.angle || op == "Sin" || op == "Cos";
  path.gathered = path.gathered || op == "Gather" || op == "GatherND";
  path.transformed = path.transformed || functions.contains(op);
  path.root = path.root || (path.shifted && op == "Sqrt");
  if (only_moves(op)) return path;
  path.moved = false;
  path.shifted = path.shifted && op == "Add";
  return path;
}

}  // namespace

bool is_weight_input(std::string_view op, int input) {
  static const std::map<std::string_view, std::vector<int>> table = {{"Conv", {1, 2}},
                                                                     {"ConvTranspose", {1, 2}},
                                                                     {"Gemm", {1, 2}},
                                                                     {"MatMul", {1}},
                                                                     {"BatchNormalization", {1, 2}},
                                                                     {"LayerNormalization", {1, 2}},
                                                                     {"InstanceNormalization", {1, 2}},
                                                                     {"GroupNormalization", {1, 2}},
                                                                     {"RMSNormalization", {1}},
                                                                     {"PRelu", {1}},
                                                                     {"LSTM", {1, 2, 3, 7}},
                                                                     {"GRU", {1, 2, 3}},
                                                                     {"RNN", {1, 2, 3}}};
  const auto it = table.find(op);
  return it != table.end() && std::ranges::find(it->second, input) != it->second.end();
}

std::vector<Path> paths_of(const Flow& flow, const std::string& name) {
  std::vector<Path> open = {{.at = name}}, met;
  std::set<std::string> seen = {name};
  while (!open.empty()) {  // each name is visited once
    const Path path = open.back();
    open.pop_back();
    for (const Use& use : flow.uses(path.at)) {
      if (!passes_gradient(*use.node, use.input)) continue;
      if (std::ranges::none_of(use.node->output(), [&](const auto& o) { return flow.gets_gradient(o); }))
        continue;
      if (flow.reads_data(*use.node)) {
        met.push_back(path), met.back().meeting = use;
        continue;
      }
      const Path next = through(path, use);
      for (const std::string& output : use.node->output())
        if (flow.gets_gradient(output) && seen.insert(output).second)
          open.push_back(next), open.back().at = output;
    }
  }
  return met;
}

}  // namespace headroom::onnx
