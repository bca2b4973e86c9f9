// Quantised networks: to small integers and back. Scales and zero points are checked where the file gives
// them; a file may also compute them.
#include "models/onnx/quantized.h"

#include <algorithm>
#include <cmath>

#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {

std::optional<SmallType> small_type(int type) {
  switch (type) {
    case TensorProto::UINT8:
      return SmallType{DType::u8, 0, 255};
    case TensorProto::INT8:
      return SmallType{DType::i8, -128, 127};
    case TensorProto::UINT16:
      return SmallType{DType::i32, 0, 65535};
    case TensorProto::INT16:
      return SmallType{DType::i32, -32768, 32767};
    case TensorProto::UINT4:
      return SmallType{DType::u8, 0, 15};
    case TensorProto::INT4:
      return SmallType{DType::i8, -8, 7};
    default:
      return std::nullopt;
  }
}

Term scale_input(Context& c, std::size_t i) {
  const Term scale = input(c, i);
  need_float(c, scale);
  if (scale.known)
    for (std::int64_t k = 0; k < scale.known->count(); ++k)
      if (const double value = scale.known->real(k); value == 0 || !std::isfinite(value))
        c.invalid(fmt::format("its scale (input {}) holds {}, by which nothing can be divided", i, value));
  return scale;
}

Term zero_input(Context& c, std::size_t i, DType integers, const Shape& scale) {
  if (!c.has_input(i)) return Term(repeated_constant(scale, integers, 0));
  const Term zero = input(c, i);
  const TensorType type = type_of(c, zero);
  if (type.dtype != integers)
    c.invalid(fmt::format("its zero point (input {}) is {}, and its integers are {}", i, name_of(type.dtype),
                          name_of(integers)));
  if (type.shape.numel() == 1) return reshaped(c, zero, scale.numel() == 1 ? scale.vector() : Ints{});
  if (type.shape != scale)
    c.invalid(fmt::format("its zero points (input {}) are {}, and its scales {}", i, type.shape.str(),
                          scale.str()));
  return zero;
}

Term quantized(Context& c, const Term& x, const Term& scale, const Term& zero, const SmallType& to,
               Attrs where) {
  where.set("to", std::string(name_of(to.dtype)));
  where.set("low", to.low), where.set("high", to.high);
  const bool sums = type_of(c, x).dtype == DType::i32;
  return apply(c, sums ? "requantize" : "quantize", {x, scale, zero}, where);
}

Term dequantized(Context& c, const Term& x, const Term& scale, const Term& zero) {
  return apply(c, "dequantize", {x, scale, zero});
}

namespace {

// Where the scales of QuantizeLinear and DequantizeLinear lie: empty for one scale.
Attrs place_of(Context& c, const Shape& x, const Shape& scale) {
  const std::int64_t block = c.integer("block_size", 0);
  if (block < 0) c.invalid(fmt::format("a block_size of {}", block));
  if (block == 0 && scale.numel() == 1 && scale.rank() <= 1) return {};
  const std::int64_t axis = axis_in(c, c.integer("axis", 1), x.rank());
  const std::int64_t length = x[static_cast<int>(axis)];
  if (block == 0) {
    if (scale != Shape{length})
      c.invalid(fmt::format("{} scales for axis {} of {}", scale.str(), axis, x.str()));
    return {{"axis", axis}};
  }
  Shape wanted = x;
  wanted[static_cast<int>(axis)] = (length + block - 1) / block;
  if (scale != wanted)
    c.invalid(fmt::format("scales of {} for {} in blocks of {} along axis {}; it needs {}", scale.str(),
                          x.str(), block, axis, wanted.str()));
  return {{"axis", axis}, {"block", block}};
}

// The type of the results: that of the zero point, else the attribute, else uint8.
SmallType target_of(const Context& c) {
  const int wanted = static_cast<int>(c.integer("output_dtype", TensorProto::UNDEFINED));
  int type = wanted == TensorProto::UNDEFINED ? static_cast<int>(TensorProto::UINT8) : wanted;
  if (c.has_input(2)) {
    const DType ours = c.type(2).dtype;
    const int by_dtype = ours == DType::u8 ? TensorProto::UINT8 : TensorProto::INT8;
    const std::optional<int> stored = c.file_type(2);
    if (!stored && !is_8bit(ours) && wanted == TensorProto::UNDEFINED)
      c.unsupported("the file does not tell the type of its zero point");
    const int own = stored.value_or(is_8bit(ours) ? by_dtype : wanted);
    if (wanted != TensorProto::UNDEFINED && wanted != own)
      c.invalid(fmt::format("its zero point is {}, and its output_dtype {}", name_of_type(own),
                            name_of_type(wanted)));
    type = own;
  }
  if (const std::optional<SmallType> small = small_type(type)) return *small;
  c.unsupported(fmt::format("there is no type {} here", name_of_type(type)));
}

Results convert_quantize(Context& c) {
  c.require_inputs(2, 3);
  const SmallType to = target_of(c);
  const Term x = floats(c, input(c, 0)), scale = scale_input(c, 1);
  const Attrs where = place_of(c, shape_of(c, x), shape_of(c, scale));
  return {quantized(c, x, scale, zero_input(c, 2, to.dtype, shape_of(c, scale)), to, where)};
}

// Stored weights stay as small as they are: they become floats when the network runs.
Results convert_dequantize(Context& c) {
  c.require_inputs(2, 3);
  const TensorType x = c.type(0);
  if (!is_8bit(x.dtype) && x.dtype != DType::i32)
    c.invalid(fmt::format("it takes small integers, not {}", name_of(x.dtype)));
  const Term scale = scale_input(c, 1), zero = zero_input(c, 2, x.dtype, shape_of(c, scale));
  const Attrs where = place_of(c, x.shape, shape_of(c, scale));
  if (!c.is_known(0) || x.shape.numel() == 1)
    return {apply(c, "dequantize", {input(c, 0), scale, zero}, where)};
  return {c.emit("dequantize", {c.weights(0), value_of(c, scale), value_of(c, zero)}, where)};
}

// Scale and zero point from the data: [min, max], extended to hold 0, becomes [0, 255].
Results convert_dynamic(Context& c) {
  c.require_inputs(1, 1);
  const Term x = input(c, 0);
  need_float(c, x);
  Ints axes(static_cast<std::size_t>(shape_of(c, x).rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  const Attrs whole{{"axes", axes}, {"keepdims", std::int64_t{0}}};
  const Term zero = number(c, 0), steps = number(c, 255);
  const auto largest = [&](const Term& of) {
    return axes.empty() ? of : apply(c, "reduce_max", {of}, whole);
  };
  const Term high = apply(c, "maximum", {largest(x), zero});
  const Term minus_low = apply(c, "maximum", {largest(apply(c, "neg", {x})), zero});
  const Term span = apply(c, "add", {high, minus_low});
  // Nothing but zeros: any scale will do.
  const Term scale =
      apply(c, "where", {apply(c, "equal", {span, zero}), number(c, 1), apply(c, "div", {span, steps})});
  const Term start = apply(c, "round", {apply(c, "minimum", {apply(c, "div", {minus_low, scale}), steps})});
  const Term point = cast_to(c, start, DType::u8);
  return {quantized(c, x, scale, point, *small_type(TensorProto::UINT8)), scale, point};
}

}  // namespace

std::vector<Conversion> quantize_conversions() {
  return {{"QuantizeLinear", convert_quantize},
          {"DequantizeLinear", convert_dequantize},
          {"DynamicQuantizeLinear", convert_dynamic},
          {"com.microsoft:QuantizeLinear", convert_quantize},
          {"com.microsoft:DequantizeLinear", convert_dequantize}};
}

}  // namespace headroom::onnx
