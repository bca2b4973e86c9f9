// Operators on 8-bit integers that have no form for them here.
#include "models/onnx/flow.h"
#include "models/onnx/lower.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {
namespace {

std::optional<DType> small_dtype(const Context& context) {
  for (std::size_t i = 0; i < context.inputs(); ++i)
    if (context.has_input(i) && is_8bit(context.type(i).dtype)) return context.type(i).dtype;
  return std::nullopt;
}

// Every result is an element of the input, or 0.
bool picks_elements(std::string_view op) { return op == "MaxPool" || op == "Relu"; }

ConstantData widened(const ConstantData& from, DType to) {
  return from.repeated ? repeated_constant(from.type.shape, to, from.real(0))
                       : constant_data(from.type.shape, from.reals(), to);
}

// Low bits, as a cast keeps them.
ConstantData narrowed(const ConstantData& from, DType to) {
  std::vector<double> elements = from.reals();
  for (double& element : elements) {
    const auto whole = static_cast<std::int64_t>(element);
    element =
        to == DType::i8 ? double(static_cast<std::int8_t>(whole)) : double(static_cast<std::uint8_t>(whole));
  }
  return constant_data(from.type.shape, elements, to);
}

}  // namespace

// Computed in int32, whose low bits are the result; in floats if elements are only compared. Both hold every
// byte.
Results Lowerer::converted(const Conversion& conversion, Context& context, const NodeProto& node) {
  const std::optional<DType> small = small_dtype(context);
  if (!small || is_quantized(node.op_type())) return conversion.convert(context);
  try {
    return conversion.convert(context);
  } catch (const Unsupported& why) {
    const Unsupported reason = why;
    for (const DType wide : {DType::i32, how_.dtype}) {
      if (is_float(wide) && !picks_elements(node.op_type())) break;
      try {
        return converted_in(wide, *small, conversion, context, node);
      } catch (const Unsupported&) {  // not in that type either
      }
    }
    throw reason;
  }
}

Results Lowerer::converted_in(DType wide, DType small, const Conversion& conversion, const Context& context,
                              const NodeProto& node) {
  const auto cast = [&](ValueId value, DType to) {
    return graph_.add_node("cast", {value}, {{"to", std::string(headroom::name_of(to))}}, context.layer())[0];
  };
  std::vector<Operand> wider;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    const Operand& operand = context.operand(i);
    if (operand.is_absent() || !is_8bit(context.type(i).dtype))
      wider.push_back(operand);
    else if (operand.known)
      wider.emplace_back(widened(*operand.known, wide));
    else
      wider.emplace_back(cast(operand.value, wide));
  }
  std::vector<Operand*> operands;
  for (Operand& operand : wider) operands.push_back(&operand);
  Context inside(*this, node, context.layer(), context.opset(), operands);
  Results results = conversion.convert(inside);
  for (Operand& result : results) {
    if (result.known && result.known->type.dtype == wide)
      result = Operand(narrowed(*result.known, small));
    else if (result.value != kNone && graph_.value(result.value).type.dtype == wide)
      result = Operand(cast(result.value, small));
  }
  return results;
}

}  // namespace headroom::onnx
