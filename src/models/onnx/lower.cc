#include "models/onnx/lower.h"

#include <algorithm>

#include "models/onnx/counted.h"
#include "models/onnx/file.h"
#include "models/onnx/flow.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/order.h"

namespace headroom::onnx {
namespace {

// Names come from a file and are printed on terminals and in tables.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string full_name(const NodeProto& node) {
  const bool own = node.domain().empty() || node.domain() == "ai.onnx";
  return printable(own ? node.op_type() : fmt::format("{}:{}", node.domain(), node.op_type()));
}

bool has_branches(const NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const AttributeProto& a) {
    return a.has_g() || a.graphs_size() > 0 || !a.ref_attr_name().empty();
  });
}

bool keeps_elements(std::string_view op) {
  return op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" || op == "Identity";
}

// Stored weights that a run makes floats of: as floats they would take four times the memory.
bool keeps_weights_small(const Context& context) {
  return context.op() == "DequantizeLinear" && context.shape(0).numel() > 1;
}

// A stable number for a constant's content: a plan for another batch may hold other numbers under its name.
std::uint64_t digest(const ConstantData& elements) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  auto mix = [&](std::uint64_t v) { h = (h ^ v) * 0x100000001B3ull; };
  for (std::int64_t d : elements.type.shape.dims()) mix(static_cast<std::uint64_t>(d));
  mix(static_cast<std::uint64_t>(elements.type.dtype));
  for (std::size_t i = 0; i < elements.stored_bytes(); ++i)
    mix(static_cast<std::uint64_t>(elements.data.get()[i]));
  return h;
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

void Lowerer::define_stored(const std::string& name, Operand operand) {
  const auto verdict = verdicts_.find(name);
  const bool learned = verdict != verdicts_.end() && verdict->second.learned;
  operand.origin = std::make_shared<Origin>(Origin{name, learned});
  operand.value = kNone;  // a copy is not the value of its original
  define(name, std::move(operand));
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
  std::string unique = name;
  for (int i = 2; !layers_.insert(unique).second; ++i) unique = fmt::format("{}#{}", name, i);
  return unique;
}

// Storage reserves some names and has one entry per name.
std::string Lowerer::stored_name(const std::string& wanted) {
  const std::string base = printable(wanted);
  const bool taken =
      base.empty() || base == kStep || base == "learning_rate" || base == "tally" || base == "one";
  std::string unique = taken ? "onnx." + base : base;
  for (int i = 2; !stored_.insert(unique).second; ++i) unique = fmt::format("{}#{}", base, i);
  return unique;
}

ValueId Lowerer::store(Operand& operand, const std::string& name, const std::string& layer, Role of_floats) {
  if (operand.value != kNone) return operand.value;
  if (operand.origin) {
    Origin& origin = *operand.origin;
    Operand plain(*operand.known);
    if (origin.value == kNone)
      origin.value = origin.learned ? store(plain, origin.name, layer, Role::parameter)
                                    : store_constant(*operand.known, origin.name, layer);
    return operand.value = origin.value;
  }
  const ConstantData& elements = *operand.known;
  if (!is_float(elements.type.dtype) || of_floats == Role::constant)
    return operand.value = store_constant(elements, fmt::format("{}@{:x}", name, digest(elements)), layer);
  if (elements.count() == 0) reject("{}: tensor '{}' has no elements", layer, name);
  return operand.value =
             graph_.add_value({.name = stored_name(name),
                               .type = {elements.type.shape, how_.dtype},
                               .role = of_floats,
                               .producer = kNone,
                               .init = {.kind = Initializer::Kind::from_data,
                                        .data = std::make_shared<const ConstantData>(elements)},
                               .layer = layer,
                               .penalized = of_floats == Role::parameter && elements.type.shape.rank() >= 2});
}

ValueId Lowerer::store_weights(Operand& operand, const std::string& name, const std::string& layer) {
  ValueId& value = operand.origin ? operand.origin->value : operand.value;
  if (value == kNone) value = store_constant(*operand.known, name, layer, Role::parameter);
  return operand.value = value;
}

ValueId Lowerer::store_constant(const ConstantData& elements, const std::string& name,
                                const std::string& layer, Role role) {
  if (elements.count() == 0) reject("{}: tensor '{}' has no elements", layer, name);
  const DType dtype = is_float(elements.type.dtype) ? how_.dtype : elements.type.dtype;
  return graph_.add_value(
      {.name = stored_name(name),
       .type = {elements.type.shape, dtype},
       .role = role,
       .producer = kNone,
       .init = {.kind = Initializer::Kind::from_data, .data = std::make_shared<const ConstantData>(elements)},
       .layer = layer});
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
  if (node.op_type() == "If")
    if (std::optional<Results> results = chosen_branch(node)) return std::move(*results);
  if (has_branches(node)) throw Unsupported{"it contains graphs that depend on the data"};
  if (std::optional<Results> known = folded(context, node)) return std::move(*known);
  const Conversion* conversion = find_conversion(node.domain(), node.op_type());
  if (conversion == nullptr) throw Unsupported{"no such operator is known here"};
  return converted(*conversion, context, node);
}

// A known condition selects one branch, whose nodes then replace the If.
std::optional<Results> Lowerer::chosen_branch(const NodeProto& node) {
  if (node.input_size() != 1) return std::nullopt;
  const auto condition = names_.find(node.input(0));
  if (condition == names_.end() || !condition->second.known || condition->second.known->count() != 1)
    return std::nullopt;
  const std::string_view wanted = condition->second.known->integer(0) != 0 ? "then_branch" : "else_branch";
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != wanted || !attribute.has_g()) continue;
    const GraphProto& branch = attribute.g();
    declare(branch);
    add_tensors(branch);
    lower(live_order(branch, file_.name(), true));
    Results results;
    for (const ValueInfoProto& output : branch.output()) {
      const auto it = names_.find(output.name());
      if (it == names_.end()) throw Unsupported{"the branch taken holds an operator that is not known here"};
      results.push_back(it->second);
    }
    return results;
  }
  return std::nullopt;
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
