// Casts. A run has one float type, and small integers are kept in wider ones. A cast to a type that the run
// does not have therefore rounds, wraps or saturates here, as that type would.

#include <algorithm>
#include <array>
#include <limits>

#include "models/onnx/file.h"
#include "models/onnx/fold.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/terms.h"
#include "models/onnx/write_node.h"
#include "ops/cast/convert.h"

namespace headroom::onnx {
namespace {

// What a type of the format holds, if ours for it holds more.
struct Range {
  std::int64_t low, high;
  // Integers keep their low bits: there are 2^n of them in a range, except that int64 lacks half of uint64.
  bool wraps() const { return high < std::numeric_limits<std::int64_t>::max(); }
  std::int64_t size() const { return high - low + 1; }
};

std::optional<Range> range_of(int type) {
  switch (type) {
    case TensorProto::INT4:
      return Range{-8, 7};
    case TensorProto::UINT4:
      return Range{0, 15};
    case TensorProto::INT8:
      return Range{-128, 127};
    case TensorProto::INT16:
      return Range{-32768, 32767};
    case TensorProto::UINT16:
      return Range{0, 65535};
    case TensorProto::UINT8:
      return Range{0, 255};
    case TensorProto::UINT32:
      return Range{0, 0xFFFFFFFFll};
    case TensorProto::UINT64:
      return Range{0, std::numeric_limits<std::int64_t>::max()};
    case TensorProto::INT32:
      return Range{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      return std::nullopt;
  }
}

// Of floats, too, which otherwise stop at the ends of the range.
bool keeps_low_bits(int type) { return type == TensorProto::INT4 || type == TensorProto::UINT4; }

// Before opset 6 the type was a name.
int target_of(const Context& c) {
  if (c.opset() >= 6) return static_cast<int>(c.integer("to"));
  constexpr std::array<std::pair<std::string_view, int>, 13> kNames = {{{"FLOAT", TensorProto::FLOAT},
                                                                        {"UINT8", TensorProto::UINT8},
                                                                        {"INT8", TensorProto::INT8},
                                                                        {"UINT16", TensorProto::UINT16},
                                                                        {"INT16", TensorProto::INT16},
                                                                        {"INT32", TensorProto::INT32},
                                                                        {"INT64", TensorProto::INT64},
                                                                        {"BOOL", TensorProto::BOOL},
                                                                        {"FLOAT16", TensorProto::FLOAT16},
                                                                        {"DOUBLE", TensorProto::DOUBLE},
                                                                        {"UINT32", TensorProto::UINT32},
                                                                        {"UINT64", TensorProto::UINT64},
                                                                        {"BFLOAT16", TensorProto::BFLOAT16}}};
  const std::string to = c.text("to");
  for (const auto& [name, number] : kNames)
    if (name == to) return number;
  c.unsupported(fmt::format("there is no type {} here", to));
}

DType ours_of(const Context& c, int type) {
  const std::optional<DType> dtype = onnx::dtype_of(type);
  if (!dtype) c.unsupported(fmt::format("there is no cast to {} here", name_of_type(type)));
  return *dtype;
}

Term rounded_to(Context& c, const Term& x, DType narrow) {
  if (c.dtype() == narrow) return floats(c, x);
  const DType to = x.known ? master_of(c.dtype()) : c.dtype();
  return apply(
      c, "cast", {x},
      {{"to", std::string(headroom::name_of(to))}, {"through", std::string(headroom::name_of(narrow))}});
}

// The low bits, with a sign where the type has one.
Term wrapped_to(Context& c, const Term& x, const Range& range) {
  const auto number = [&](std::int64_t n) { return number_like(c, x, static_cast<double>(n)); };
  const Term from_0 = range.low == 0 ? x : apply(c, "sub", {x, number(range.low)});
  const Term rest = apply(c, "mod", {from_0, number(range.size())}, {{"fmod", std::int64_t{0}}});
  return range.low == 0 ? rest : apply(c, "add", {rest, number(range.low)});
}

Term saturated_to(Context& c, const Term& x, const Range& range) {
  const auto number = [&](std::int64_t n) { return number_like(c, x, static_cast<double>(n)); };
  const Term y = apply(c, "maximum", {x, number(range.low)});
  return range.wraps() ? apply(c, "minimum", {y, number(range.high)}) : y;
}

}  // namespace

Term cast_to_type(Context& c, const Term& x, int type) {
  const DType to = ours_of(c, type), from = type_of(c, x).dtype;
  if (is_16bit(to)) return rounded_to(c, x, to);
  if (is_float(to)) return floats(c, x);
  const std::optional<Range> range = range_of(type);
  if (keeps_low_bits(type)) return cast_to(c, wrapped_to(c, cast_to(c, x, DType::i32), *range), to);
  const Term y = cast_to(c, x, to);
  // Our own integer types follow the same rules in the cast itself.
  if (!range || from == DType::boolean || type == TensorProto::UINT8 || type == TensorProto::INT8 ||
      type == TensorProto::INT32)
    return y;
  if (is_float(from)) return saturated_to(c, y, *range);
  return range->wraps() ? wrapped_to(c, y, *range) : y;
}

namespace {

Results convert_cast(Context& c) {
  c.require_inputs(1, 1);
  return {cast_to_type(c, input(c, 0), target_of(c))};
}

// The file knows the type more precisely than the graph does, if it gives it.
Results convert_cast_like(Context& c) {
  c.require_inputs(2, 2);
  const TensorType like = c.is_known(1) ? c.known(1).type : c.type(1);
  return {cast_to_type(c, input(c, 0), c.file_type(1).value_or(onnx_type(like.dtype)))};
}

std::int64_t wrapped(std::int64_t value, const Range& range) {
  const auto low = static_cast<std::uint64_t>(range.low);
  return static_cast<std::int64_t>(((static_cast<std::uint64_t>(value) - low) & (range.size() - 1)) + low);
}

}  // namespace

// The same results as at run time.
Results fold_cast(Context& c) {
  const int type = target_of(c);
  const DType to = ours_of(c, type);
  const ConstantData& from = c.known(0);
  if (is_float(to) || to == DType::boolean) return {constant_data(from.type.shape, from.reals(), to)};
  const std::optional<Range> range = range_of(type);
  Ints elements;
  for (std::int64_t i = 0; i < from.count(); ++i) {
    if (is_float(from.type.dtype)) {
      const std::int64_t whole = convert<double, std::int64_t>(from.real(i));
      elements.push_back(!range                 ? whole
                         : keeps_low_bits(type) ? wrapped(whole, *range)
                                                : std::clamp(whole, range->low, range->high));
    } else {
      const std::int64_t whole = from.integer(i);
      elements.push_back(range && range->wraps() ? wrapped(whole, *range) : whole);
    }
  }
  return {made(c, from.type.shape, {}, elements, to)};
}

std::vector<Conversion> cast_conversions() {
  return {{"Cast", convert_cast}, {"CastLike", convert_cast_like}};
}

}  // namespace headroom::onnx
