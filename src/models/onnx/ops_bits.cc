// Operators on the bits of integers. Small integers are kept in wider types here: a result keeps the bits of
// the type that the file names.

#include "models/onnx/onnx.pb.h"
#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// Integers as our operators on bits take them.
Term bits_of(Context& c, std::size_t i) {
  const Term given = input(c, i);
  const Term wide =
      type_of(c, given).dtype == DType::i8 ? cast_to(c, given, DType::i32) : wide_integers(c, given);
  if (const DType dtype = type_of(c, wide).dtype; is_float(dtype))
    c.invalid(fmt::format("it takes integers, not {}", name_of(dtype)));
  return wide;
}

// The result as the type of the first input.
Results as_first(Context& c, const Term& bits) {
  if (const std::optional<int> type = c.file_type(0)) return {cast_to_type(c, bits, *type)};
  return {cast_to(c, bits, c.type(0).dtype)};
}

// Both as the wider of their types: bytes and other integers may meet.
std::vector<Term> both_bits(Context& c) {
  const Term a = bits_of(c, 0), b = bits_of(c, 1);
  const DType wide = type_of(c, a).dtype == DType::i64 ? DType::i64 : type_of(c, b).dtype;
  return {cast_to(c, a, wide), cast_to(c, b, wide)};
}

Results convert_bits(Context& c, std::string_view op) {
  c.require_inputs(2, 2);
  return as_first(c, apply(c, op, both_bits(c)));
}

// -1 - x has every bit of x inverted.
Results convert_not(Context& c) {
  c.require_inputs(1, 1);
  const Term x = bits_of(c, 0);
  return as_first(c, apply(c, "sub", {number_like(c, x, -1), x}));
}

// uint64 is kept in int64, whose sign is not a sign there.
Results convert_shift(Context& c) {
  c.require_inputs(2, 2);
  const std::string direction = c.text("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    c.invalid(fmt::format("direction is '{}', not LEFT or RIGHT", direction));
  if (direction == "LEFT") return convert_bits(c, "shift_left");
  const bool logical = c.file_type(0) == TensorProto::UINT64;
  return as_first(c, apply(c, "shift_right", both_bits(c), {{"logical", std::int64_t{logical ? 1 : 0}}}));
}

}  // namespace

std::vector<Conversion> bit_conversions() {
  return {{"BitwiseAnd", [](Context& c) { return convert_bits(c, "bit_and"); }},
          {"BitwiseOr", [](Context& c) { return convert_bits(c, "bit_or"); }},
          {"BitwiseXor", [](Context& c) { return convert_bits(c, "bit_xor"); }},
          {"BitwiseNot", convert_not},
          {"BitShift", convert_shift}};
}

}  // namespace headroom::onnx
