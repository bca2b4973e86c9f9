#include "models/onnx/lower.h"

#include <algorithm>

#include "models/onnx/counted.h"
#include "models/onnx/file.h"
#include "models/onnx/flow.h"
#include "models/onnx/names.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/order.h"

namespace headroom::onnx {
namespace {

bool has_branches(const NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const AttributeProto& a) {
    return a.has_g() || a.graphs_size() > 0 || !a.ref_attr_name().empty();
  });
}

const char* reason_without_conversion(const std::string& op) {
  const bool lists = op.find("Sequence") != std::string::npos || op.starts_with("Optional");
  return lists ? "sequences and optional values are not supported" : "no such operator is known here";
}

bool keeps_elements(std::string_view op) {
  return op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" || op == "Identity";
}

// Stored weights that a run makes floats of: as floats they would take four times the memory.
bool keeps_weights_small(const Context& context) {
  return context.op() == "DequantizeLinear" && context.shape(0).numel() > 1;
}

}  // namespace

Lowerer::Lowerer(const File& file, const Verdicts& verdicts, Graph& graph, const Lowering& how,
                 std::map<std::string, std::int64_t> sizes)
    : file_(file), verdicts_(verdicts), graph_(graph), how_(how), sizes_(std::move(sizes)) {}

void Lowerer::declare(const GraphProto& graph) {
  for (const auto* list : {&graph.value_info(), &graph.output()})
    for (const ValueInfoProto& info : *list) declared_.emplace(info.name(), &info);
  for (const ValueInfoProto& output : graph.output()) read_.insert(output.name());
}

void Lowerer::add_tensors(const GraphProto& graph) {
  for (const TensorProto& tensor : graph.initializer()) {
    try {
      define_stored(tensor.name(), file_.tensor(tensor));
    } catch (const Unsupported&) {  // its readers report it
    }
  }
}

std::optional<TensorType> Lowerer::declared(const std::string& name) const {
  const auto it = declared_.find(name);
  if (it == declared_.end() || !it->second->type().has_tensor_type()) return std::nullopt;
  const TypeProto::Tensor& type = it->second->type().tensor_type();
  const std::optional<DType> dtype = dtype_of(type.elem_type());
  if (!dtype || !type.has_shape() || type.shape().dim_size() > Shape::kMaxRank) return std::nullopt;
  Ints dims;
  for (const TensorShapeProto::Dimension& d : type.shape().dim()) {
    const auto bound = sizes_.find(d.dim_param());
    const std::int64_t size = d.has_dim_value() ? d.dim_value() : bound != sizes_.end() ? bound->second : 0;
    if (size < 1) return std::nullopt;
    dims.push_back(size);
  }
  return TensorType{Shape(dims), is_float(*dtype) ? how_.dtype : *dtype};
}

std::string Lowerer::layer_name(const NodeProto& node) {
  std::string name = printable(node.name());
  if (name.empty()) name = fmt::format("{}_{}", full_name(node), count_);
  return unique_name(layers_, name, name);
}

ValueId Lowerer::value_of(const std::string& name) {
  const auto it = names_.find(name);
  if (it == names_.end() || it->second.is_absent()) return kNone;
  if (it->second.known && it->second.known->count() == 0) {  // plans have no tensors without elements
    unknown.push_back({"output", name, "a result without elements"});
    return kNone;
  }
  return store(it->second, name, name, Role::constant);
}

std::optional<Counted> Lowerer::counted(const std::string& name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? std::nullopt : it->second.counted;
}

void Lowerer::lower(const std::vector<const NodeProto*>& order) {
  for (const NodeProto* node : order)
    for (std::string& name : names_read(*node)) read_.insert(std::move(name));
  for (const NodeProto* node : order) lower(*node);
}

// A parameter may be reshaped or transposed first. It belongs to the layer where it meets the data.
void Lowerer::give_parameters_to_layers() {
  const std::size_t count = graph_.values().size();
  std::vector<bool> data(count, false);
  std::vector<NodeId> reader(count, kNone);  // the first one
  for (std::size_t v = 0; v < count; ++v) data[v] = graph_.values()[v].role == Role::input;
  for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
    const Node& node = graph_.nodes()[n];
    const bool reads = std::ranges::any_of(node.inputs, [&](ValueId in) { return data[std::size_t(in)]; });
    for (ValueId in : node.inputs)
      if (NodeId& first = reader[std::size_t(in)]; first == kNone) first = static_cast<NodeId>(n);
    for (ValueId out : node.outputs) data[std::size_t(out)] = reads;
  }
  for (ValueId id : graph_.with_role(Role::parameter)) {
    ValueId at = id;
    for (NodeId n = reader[std::size_t(at)]; n != kNone; n = reader[std::size_t(at)]) {
      graph_.value(id).layer = graph_.node(n).layer;
      at = graph_.node(n).outputs[0];
      if (data[std::size_t(at)]) break;
    }
  }
}

void Lowerer::lower(const NodeProto& node) {
  static Operand absent;
  const std::string layer = layer_name(node);
  ++count_;
  std::vector<Operand*> operands;
  for (const std::string& name : node.input()) {
    const auto it = names_.find(name);
    if (!name.empty() && it == names_.end()) return leave_unreached(node, layer);
    operands.push_back(name.empty() ? &absent : &it->second);
  }
  while (!operands.empty() && operands.back()->is_absent()) operands.pop_back();
  const std::int64_t opset = node.has_own_opset() ? node.own_opset() : file_.opset(node.domain());
  Context context(*this, node, layer, opset, std::move(operands));
  try {
    const std::optional<Counted> counted = counted_results(context);
    Results results = convert(context, node);
    if (counted)
      for (Operand& result : results) result.counted = counted;
    for (std::size_t i = 0; i < results.size() && i < static_cast<std::size_t>(node.output_size()); ++i)
      if (const std::string& name = node.output(static_cast<int>(i)); !name.empty())
        verdicts_.contains(name) ? define_stored(name, results[i]) : define(name, results[i]);
  } catch (const Unsupported& gap) {
    leave_gap(context, node, gap.reason);
  }
}

Results Lowerer::convert(Context& context, const NodeProto& node) {
  if (has_branches(node)) return follow(context, node);
  if (std::optional<Results> known = folded(context, node)) return std::move(*known);
  const Conversion* conversion = find_conversion(node.domain(), node.op_type());
  if (conversion == nullptr) throw Unsupported{reason_without_conversion(node.op_type())};
  return converted(*conversion, context, node);
}

void Lowerer::leave_gap(Context& context, const NodeProto& node, const std::string& reason) {
  unknown.push_back({full_name(node), context.layer(), reason});
  Ints shapes;
  std::string dtypes;
  std::vector<std::string> outputs;
  for (const std::string& name : node.output()) {
    if (name.empty() || !is_read(name)) continue;
    const std::optional<TensorType> type = declared(name);
    if (!type) {
      for (Operand* operand : context.operands_)
        if (operand->value != kNone) ends.push_back(operand->value);
      return;  // its readers do not find the name and are unreached
    }
    shapes.push_back(type->shape.rank());
    for (std::int64_t d : type->shape.dims()) shapes.push_back(d);
    dtypes += fmt::format("{}{}", dtypes.empty() ? "" : ",", headroom::name_of(type->dtype));
    outputs.push_back(name);
  }
  if (outputs.empty()) return;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    const bool weights = context.is_known(i) && context.operand(i).known->count() > 1 &&
                         is_float(context.operand(i).known->type.dtype);
    if (weights || (context.has_input(i) && !context.is_known(i))) inputs.push_back(context.value(i));
  }
  const std::vector<ValueId> values = graph_.add_node(
      "gap", inputs, {{"op", full_name(node)}, {"shapes", shapes}, {"dtypes", dtypes}}, context.layer());
  for (std::size_t i = 0; i < outputs.size(); ++i) define(outputs[i], values[i]);
}

void Lowerer::leave_unreached(const NodeProto& node, const std::string& layer) {
  for (const std::string& name : node.input())  // a tensor of a type we lack is a separate reason
    for (const TensorProto& tensor : file_.graph().initializer())
      if (tensor.name() == name && !dtype_of(tensor.data_type())) {
        unknown.push_back(
            {full_name(node), layer,
             fmt::format("it reads '{}' of type {}", printable(name), name_of_type(tensor.data_type()))});
        return;
      }
  unreached.push_back(fmt::format("{} ({})", layer, full_name(node)));
  for (const std::string& name : node.input())
    if (const auto it = names_.find(name); it != names_.end() && it->second.value != kNone)
      ends.push_back(it->second.value);
}

bool Lowerer::all_known(const Context& context, const NodeProto& node) const {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (!context.has_input(i)) continue;
    if (!context.is_known(i)) return false;
    // What becomes of a learned tensor must follow it.
    if (context.is_learned(i) && passes_gradient(node, static_cast<int>(i))) return false;
    // A reshape leaves the elements in place, however many there are.
    if (i > 0 || !keeps_elements(context.op())) elements += context.operand(i).known->count();
  }
  return context.inputs() > 0 && elements <= kMaxFolded && !keeps_weights_small(context);
}

std::optional<Results> Lowerer::folded(Context& context, const NodeProto& node) {
  if (scratch_ || !all_known(context, node)) return std::nullopt;
  try {
    if (const Conversion* fold = find_fold(node.domain(), node.op_type())) return fold->convert(context);
  } catch (const Unsupported&) {  // the evaluator lacks this form; the operator may have it
  }
  return run_now(node, context);
}

}  // namespace headroom::onnx
