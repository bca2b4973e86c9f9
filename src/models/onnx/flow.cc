#include "models/onnx/flow.h"

#include <algorithm>
#include <map>

#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/order.h"

namespace headroom::onnx {
namespace {

using Ops = std::set<std::string_view>;

const Ops kMoves = {"Identity",  "Cast",           "CastLike",     "Reshape",     "Flatten", "Squeeze",
                    "Unsqueeze", "Transpose",      "Expand",       "Tile",        "Slice",   "Split",
                    "Concat",    "Gather",         "GatherND",     "Pad",         "If",      "Dropout",
                    "Trilu",     "GatherElements", "DepthToSpace", "SpaceToDepth"};

// Results that do not change with a small change of the inputs.
const Ops kNoGradient = {"Shape",        "Size",          "Equal",       "Less",
                         "LessOrEqual",  "Greater",       "And",         "Or",
                         "Xor",          "Not",           "ArgMax",      "ArgMin",
                         "NonZero",      "OneHot",        "IsNaN",       "IsInf",
                         "Floor",        "Ceil",          "Round",       "Sign",
                         "Range",        "Mod",           "EyeLike",     "ConstantOfShape",
                         "RandomNormal", "RandomUniform", "Multinomial", "NonMaxSuppression",
                         "Bernoulli",    "GreaterOrEqual"};

// Operators whose gradient goes to these inputs only; all others pass it to every input.
const std::map<std::string_view, std::vector<int>>& gradient_inputs() {
  static const std::map<std::string_view, std::vector<int>> table = {{"Reshape", {0}},
                                                                     {"Expand", {0}},
                                                                     {"Tile", {0}},
                                                                     {"Gather", {0}},
                                                                     {"Slice", {0}},
                                                                     {"Squeeze", {0}},
                                                                     {"Unsqueeze", {0}},
                                                                     {"Split", {0}},
                                                                     {"Pad", {0, 2}},
                                                                     {"Resize", {0}},
                                                                     {"Upsample", {0}},
                                                                     {"GatherND", {0}},
                                                                     {"Clip", {0}},
                                                                     {"Where", {1, 2}},
                                                                     {"Pow", {0}},
                                                                     {"GatherElements", {0}},
                                                                     {"TopK", {0}},
                                                                     {"Trilu", {0}},
                                                                     {"CumSum", {0}},
                                                                     {"Dropout", {0}},
                                                                     {"ReduceSum", {0}},
                                                                     {"ReduceL1", {0}},
                                                                     {"ReduceL2", {0}},
                                                                     {"ReduceMean", {0}},
                                                                     {"ReduceMax", {0}},
                                                                     {"ReduceMin", {0}},
                                                                     {"ReduceProd", {0}},
                                                                     {"ReduceSumSquare", {0}},
                                                                     {"CastLike", {0}},
                                                                     {"Compress", {0}},
                                                                     {"ReduceLogSum", {0}},
                                                                     {"ReduceLogSumExp", {0}},
                                                                     {"ScatterND", {0, 2}},
                                                                     {"Scatter", {0, 2}},
                                                                     {"ScatterElements", {0, 2}},
                                                                     {"BatchNormalization", {0, 1, 2}},
                                                                     {"LSTM", {0, 1, 2, 3, 5, 6, 7}},
                                                                     {"GRU", {0, 1, 2, 3, 5}},
                                                                     {"RNN", {0, 1, 2, 3, 5}}};
  return table;
}

std::vector<const GraphProto*> branches_of(const NodeProto& node) {
  std::vector<const GraphProto*> list;
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) list.push_back(&attribute.g());
    for (const GraphProto& graph : attribute.graphs()) list.push_back(&graph);
  }
  return list;
}

bool casts_to_integers(const NodeProto& node) {
  for (const AttributeProto& a : node.attribute()) {
    if (node.op_type() != "Cast" || a.name() != "to" || !a.has_i()) continue;
    const auto dtype = dtype_of(static_cast<int>(a.i()));
    return !dtype || !is_float(*dtype);
  }
  return false;
}

}  // namespace

bool is_quantized(std::string_view op) {
  return op.starts_with("QLinear") || op.ends_with("QuantizeLinear") || op == "DequantizeLinear" ||
         op == "MatMulInteger" || op == "ConvInteger";
}

bool only_moves(std::string_view op) { return kMoves.contains(op); }

bool passes_gradient(const NodeProto& node, int input) {
  if (kNoGradient.contains(node.op_type()) || is_quantized(node.op_type()) || casts_to_integers(node))
    return false;
  const auto it = gradient_inputs().find(node.op_type());
  return it == gradient_inputs().end() || std::ranges::find(it->second, input) != it->second.end();
}

Flow::Flow(const GraphProto& graph, const std::vector<const NodeProto*>& order) {
  std::set<std::string_view> stored;
  for (const TensorProto& tensor : graph.initializer()) stored.insert(tensor.name());
  for (const ValueInfoProto& input : graph.input())
    if (!stored.contains(input.name()))
      inputs_.emplace(input.name(), input.type().tensor_type().shape().dim_size());
  for (const ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
  add(order);
  mark_data();
  mark_plain_inputs();
  mark_gradients();
}

void Flow::add(const std::vector<const NodeProto*>& order) {
  for (const NodeProto* node : order) {
    for (const GraphProto* branch : branches_of(*node)) {
      std::vector<const NodeProto*> inner;
      for (const NodeProto& one : branch->node()) inner.push_back(&one);
      add(inner);
    }
    nodes_.push_back(node);
    for (int i = 0; i < node->input_size(); ++i)
      if (!node->input(i).empty()) uses_[node->input(i)].push_back({node, i});
    // A branch hands its outputs to the node.
    for (const GraphProto* branch : branches_of(*node))
      for (const ValueInfoProto& output : branch->output()) uses_[output.name()].push_back({node, 0});
    for (const std::string& output : node->output())
      if (!output.empty()) makers_.emplace(output, node);
  }
}

void Flow::mark_data() {
  for (const auto& [name, rank] : inputs_) data_.insert(name);
  // The body of a Loop or Scan gets data from one run to the next.
  for (const NodeProto* node : nodes_)
    for (const GraphProto* body : branches_of(*node))
      for (const ValueInfoProto& input : body->input()) data_.insert(input.name());
  for (const NodeProto* node : nodes_) {
    if (node->op_type() == "Shape" || node->op_type() == "Size" || !reads_data(*node)) continue;
    for (const std::string& output : node->output()) data_.insert(output);
  }
}

void Flow::mark_gradients() {
  reached_ = outputs_;
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    const NodeProto& node = *nodes_[n];
    if (std::ranges::none_of(node.output(), [&](const std::string& o) { return reached_.contains(o); }))
      continue;
    for (int i = 0; i < node.input_size(); ++i)
      if (passes_gradient(node, i)) reached_.insert(node.input(i));
    for (const GraphProto* branch : branches_of(node))
      for (const ValueInfoProto& output : branch->output()) reached_.insert(output.name());
  }
}

const NodeProto* Flow::maker(const std::string& name) const {
  const auto it = makers_.find(name);
  return it == makers_.end() ? nullptr : it->second;
}

const std::vector<Use>& Flow::uses(const std::string& name) const {
  static const std::vector<Use> none;
  const auto it = uses_.find(name);
  return it == uses_.end() ? none : it->second;
}

bool Flow::reads_data(const NodeProto& node) const {
  if (std::ranges::any_of(node.input(), [&](const std::string& name) { return is_data(name); })) return true;
  for (const GraphProto* branch : branches_of(node))
    for (const ValueInfoProto& output : branch->output())
      if (is_data(output.name())) return true;
  return false;
}

std::string Flow::data_input(const NodeProto& node) const {
  std::string found;
  for (const std::string& name : node.input()) {
    if (!is_data(name)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

void Flow::mark_plain_inputs() {
  static const Ops arithmetic = {"Add", "Sub", "Mul", "Div", "Neg", "Clip", "Resize", "Upsample"};
  for (const auto& [name, rank] : inputs_) plain_.insert(name);
  for (const NodeProto* node : nodes_) {
    if (!only_moves(node->op_type()) && !arithmetic.contains(node->op_type())) continue;
    int read = 0;
    bool plain = true;
    for (int i = 0; i < node->input_size(); ++i) {
      if (!is_data(node->input(i))) continue;
      ++read;
      plain = plain && passes_gradient(*node, i) && plain_.contains(node->input(i));
    }
    if (plain && (read == 1 || (read > 1 && node->op_type() == "Concat")))
      plain_.insert(node->output().begin(), node->output().end());
  }
}

bool Flow::computed_with(const std::string& name, const std::set<std::string_view>& ops) const {
  std::vector<std::string> open = {name};
  std::set<std::string> seen = {name};
  while (!open.empty()) {
    const NodeProto* node = maker(open.back());
    const bool data = is_data(open.back());
    open.pop_back();
    if (node == nullptr || data) continue;
    if (ops.contains(node->op_type())) return true;
    for (const std::string& input : node->input())
      if (seen.insert(input).second) open.push_back(input);
  }
  return false;
}

bool Flow::feeds(const std::string& name, const std::function<bool(const Use&)>& found,
                 const Ops& between) const {
  std::vector<std::string> open = {name};
  std::set<std::string> seen = {name};
  while (!open.empty()) {
    const std::string at = open.back();
    open.pop_back();
    for (const Use& use : uses(at)) {
      if (found(use)) return true;
      if (!only_moves(use.node->op_type()) && !between.contains(use.node->op_type())) continue;
      for (const std::string& output : use.node->output())
        if (seen.insert(output).second) open.push_back(output);
    }
  }
  return false;
}

const NodeProto* Flow::maker_before_moves(const std::string& name) const {
  const NodeProto* node = maker(name);
  while (node != nullptr && only_moves(node->op_type()) && !data_input(*node).empty())
    node = maker(data_input(*node));
  return node;
}

}  // namespace headroom::onnx
