#include <algorithm>

#include "models/onnx/convert.h"
#include "models/onnx/file.h"
#include "models/onnx/lower.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {

Context::Context(Lowerer& lowerer, const NodeProto& node, std::string layer, std::int64_t opset,
                 std::vector<Operand*> operands)
    : lowerer_(lowerer),
      node_(node),
      layer_(std::move(layer)),
      opset_(opset),
      operands_(std::move(operands)) {}

const std::string& Context::op() const { return node_.op_type(); }
bool Context::is_own() const { return node_.domain().empty() || node_.domain() == "ai.onnx"; }
const std::string& Context::input_name(std::size_t i) const { return node_.input(static_cast<int>(i)); }
DType Context::dtype() const { return lowerer_.how().dtype; }
bool Context::training() const { return lowerer_.how().training; }
std::int64_t Context::first_element(ValueId value) const {
  const Lowering& how = lowerer_.how();
  return how.first_item * (lowerer_.graph().value(value).type.shape.numel() / how.items);
}
std::int64_t Context::seed() const { return static_cast<std::int64_t>(lowerer_.how().seed >> 1); }

// Old exporters omit the type: then the field that is set decides.
const AttributeProto* Context::find(std::string_view attribute, int type) const {
  for (const AttributeProto& a : node_.attribute()) {
    if (a.name() != attribute) continue;
    if (a.has_type() && a.type() != type)
      invalid(fmt::format("attribute '{}' has another type than the operator's", attribute));
    return &a;
  }
  return nullptr;
}

const AttributeProto& Context::require(std::string_view attribute, int type) const {
  const AttributeProto* found = find(attribute, type);
  if (found == nullptr) invalid(fmt::format("it has no attribute '{}'", attribute));
  return *found;
}

bool Context::has(std::string_view attribute) const {
  return std::ranges::any_of(node_.attribute(), [&](const auto& a) { return a.name() == attribute; });
}

std::int64_t Context::integer(std::string_view attribute) const {
  return require(attribute, AttributeProto::INT).i();
}
std::int64_t Context::integer(std::string_view attribute, std::int64_t fallback) const {
  return has(attribute) ? integer(attribute) : fallback;
}
double Context::real(std::string_view attribute) const {
  return require(attribute, AttributeProto::FLOAT).f();
}
double Context::real(std::string_view attribute, double fallback) const {
  return has(attribute) ? real(attribute) : fallback;
}
std::string Context::text(std::string_view attribute) const {
  return require(attribute, AttributeProto::STRING).s();
}
std::string Context::text(std::string_view attribute, std::string_view fallback) const {
  return has(attribute) ? text(attribute) : std::string(fallback);
}
Ints Context::integers(std::string_view attribute) const {
  const auto& list = require(attribute, AttributeProto::INTS).ints();
  return {list.begin(), list.end()};
}
Ints Context::integers(std::string_view attribute, Ints fallback) const {
  return has(attribute) ? integers(attribute) : std::move(fallback);
}
std::vector<double> Context::reals(std::string_view attribute) const {
  const auto& list = require(attribute, AttributeProto::FLOATS).floats();
  return {list.begin(), list.end()};
}
std::vector<double> Context::reals(std::string_view attribute, std::vector<double> fallback) const {
  return has(attribute) ? reals(attribute) : std::move(fallback);
}
std::vector<std::string> Context::texts(std::string_view attribute) const {
  const AttributeProto* found = find(attribute, AttributeProto::STRINGS);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}
ConstantData Context::tensor(std::string_view attribute) const {
  return lowerer_.file().tensor(require(attribute, AttributeProto::TENSOR).t());
}

const Operand& Context::operand(std::size_t i) const {
  static const Operand absent;
  return i < operands_.size() ? *operands_[i] : absent;
}

TensorType Context::type(std::size_t i) const {
  if (!has_input(i)) invalid(fmt::format("its input {} is missing", i));
  const Operand& o = *operands_[i];
  if (!o.known) return type_of(o.value);
  return {o.known->type.shape, is_float(o.known->type.dtype) ? dtype() : o.known->type.dtype};
}

std::optional<int> Context::file_type(std::size_t i) const {
  const std::string& name = node_.input(static_cast<int>(i));
  const GraphProto& graph = lowerer_.file().graph();
  for (const TensorProto& tensor : graph.initializer())
    if (tensor.name() == name) return tensor.data_type();
  for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const ValueInfoProto& info : *list)
      if (info.name() == name && info.type().has_tensor_type()) return info.type().tensor_type().elem_type();
  for (const NodeProto& node : graph.node())
    if (node.op_type() == "Constant" && node.output_size() == 1 && node.output(0) == name)
      for (const AttributeProto& a : node.attribute())
        if (a.name() == "value" && a.has_t()) return a.t().data_type();
  return std::nullopt;
}

const ConstantData& Context::known(std::size_t i) const {
  if (!has_input(i)) invalid(fmt::format("its input {} is missing", i));
  if (!is_known(i))
    unsupported(fmt::format("'{}' depends on the data; it must be known before a run",
                            node_.input(static_cast<int>(i))));
  return *operands_[i]->known;
}

Ints Context::known_integers(std::size_t i) const {
  const ConstantData& elements = known(i);
  if (elements.count() > kMaxFolded) unsupported("its list of numbers is too long");
  return elements.integers();
}

std::vector<double> Context::known_reals(std::size_t i) const {
  const ConstantData& elements = known(i);
  if (elements.count() > kMaxFolded) unsupported("its list of numbers is too long");
  return elements.reals();
}

double Context::known_real(std::size_t i) const {
  if (known(i).count() != 1)
    invalid(fmt::format("its input {} is {}, not one number", i, known(i).type.shape.str()));
  return known(i).real(0);
}

std::optional<Ints> Context::integers_of(std::string_view attribute, std::size_t input) const {
  if (has(attribute)) return integers(attribute);
  if (has_input(input)) return known_integers(input);
  return std::nullopt;
}

Ints Context::required_integers(std::string_view attribute, std::size_t input) const {
  std::optional<Ints> found = integers_of(attribute, input);
  if (!found) invalid(fmt::format("it has no '{}'", attribute));
  return *std::move(found);
}

ValueId Context::value(std::size_t i) {
  if (!has_input(i)) invalid(fmt::format("its input {} is missing", i));
  return lowerer_.store(*operands_[i], node_.input(static_cast<int>(i)), layer_, Role::constant);
}
ValueId Context::weights(std::size_t i) {
  known(i);
  return lowerer_.store_weights(*operands_[i], node_.input(static_cast<int>(i)), layer_);
}
// If layers share one tensor of zeros in the file, each still gets its own statistics.
ValueId Context::statistic(std::size_t i) {
  if (!is_known(i)) unsupported("its statistics are computed");
  Operand own(*operands_[i]->known);
  return lowerer_.store(own, node_.input(static_cast<int>(i)), layer_, Role::state);
}

std::size_t Context::outputs() const { return static_cast<std::size_t>(node_.output_size()); }
bool Context::wants_output(std::size_t i) const {
  return i < outputs() && !node_.output(static_cast<int>(i)).empty() &&
         lowerer_.is_read(node_.output(static_cast<int>(i)));
}
std::optional<TensorType> Context::declared_output(std::size_t i) const {
  if (i >= outputs()) return std::nullopt;
  return lowerer_.declared(node_.output(static_cast<int>(i)));
}

ValueId Context::emit(std::string_view op, std::vector<ValueId> operands, Attrs attrs) {
  return emit_all(op, std::move(operands), std::move(attrs)).at(0);
}
std::vector<ValueId> Context::emit_all(std::string_view op, std::vector<ValueId> operands, Attrs attrs) {
  return lowerer_.graph().add_node(op, std::move(operands), std::move(attrs), layer_);
}

ValueId Context::constant(const ConstantData& elements) {
  Operand made(elements);
  return lowerer_.store(made, fmt::format("{}.constant{}", layer_, constants_++), layer_, Role::constant);
}
ValueId Context::constant(double element, Shape shape) {
  return constant(repeated_constant(shape, dtype(), element));
}
ValueId Context::step() { return step_scalar(lowerer_.graph()); }
const TensorType& Context::type_of(ValueId id) const { return lowerer_.graph().value(id).type; }

ValueId Context::untransposed_parameter(ValueId id) const {
  const Graph& graph = lowerer_.graph();
  const NodeId made_by = graph.value(id).producer;
  if (made_by == kNone || graph.node(made_by).op != "transpose") return kNone;
  const Node& node = graph.node(made_by);
  const int rank = graph.value(id).type.shape.rank();
  Ints swapped;
  for (std::int64_t a = 0; a < rank; ++a) swapped.push_back(a + 2 < rank ? a : 2 * rank - 3 - a);
  const bool matches = rank >= 2 && node.attrs.integers("perm", {}) == swapped;
  return matches && graph.value(node.inputs[0]).role == Role::parameter ? node.inputs[0] : kNone;
}

void Context::unsupported(std::string reason) const { throw Unsupported{std::move(reason)}; }

void Context::invalid(std::string_view reason) const { reject("node '{}' ({}): {}", layer_, op(), reason); }

void Context::require_inputs(std::size_t least, std::size_t most) const {
  if (inputs() < least || inputs() > most)
    invalid(least == most ? fmt::format("it has {} inputs, not {}", inputs(), least)
                          : fmt::format("it has {} inputs, not {} to {}", inputs(), least, most));
}

}  // namespace headroom::onnx
