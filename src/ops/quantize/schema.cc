#include <algorithm>

#include "ops/expect.h"
#include "ops/quantize/quantize.h"

namespace headroom {
namespace quantize_schema_cc {
namespace {

constexpr std::int64_t kRowElements = 16384;  // of a piece of a tensor with one scale

ScaleMap map_of(std::string_view op, const Shape& x, const Shape& scale, const Attrs& attrs) {
  ScaleMap map;
  if (scale.numel() == 1 && !attrs.has("block")) {
    map.inner = x.numel();
    return map;
  }
  const std::int64_t axis = attrs.integer("axis", 1);
  if (axis < 0 || axis >= x.rank())
    reject("{} of {} along axis {}, which it does not have", op, x.str(), axis);
  for (int a = 0; a < x.rank(); ++a) (a < axis ? map.outer : a == axis ? map.length : map.inner) *= x[a];
  map.block = attrs.integer("block", 0);
  map.kind = attrs.has("block") ? ScaleMap::Kind::blocks : ScaleMap::Kind::axis;
  if (map.kind == ScaleMap::Kind::axis) {
    if (scale.rank() != 1 || scale[0] != map.length)
      reject("{} of {}: axis {} needs {} scales, not {}", op, x.str(), axis, map.length, scale.str());
    return map;
  }
  if (map.block < 1) reject("{}: blocks of {} elements", op, map.block);
  map.blocks = (map.length + map.block - 1) / map.block;
  Shape wanted = x;
  wanted[static_cast<int>(axis)] = map.blocks;
  if (scale != wanted)
    reject("{} of {} in blocks of {} along axis {} needs scales of {}, not {}", op, x.str(), map.block, axis,
           wanted.str(), scale.str());
  return map;
}

void expect_scale(std::string_view op, const std::vector<TensorType>& in, const Attrs& attrs,
                  DType integers) {
  expect_inputs(op, in, 3);
  expect_float(op, in[1]);
  map_of(op, in[0].shape, in[1].shape, attrs);
  if (in[2].dtype != integers)
    reject("{}: the zero point is {}, and the integers are {}", op, name_of(in[2].dtype), name_of(integers));
  if (in[2].shape != in[1].shape && in[2].shape.numel() != 1)
    reject("{}: scales of {} and zero points of {}", op, in[1].shape.str(), in[2].shape.str());
}

DType target_of(std::string_view op, const Attrs& attrs) {
  const std::optional<DType> to = parse_dtype(attrs.text("to"));
  if (!to || (!is_8bit(*to) && *to != DType::i32))
    reject(Hint{"uint8, int8 or int32"}, "{} to '{}'", op, attrs.text("to"));
  const std::int64_t low = attrs.integer("low"), high = attrs.integer("high");
  constexpr std::int64_t kFarthest = 65535;  // fp32 rounds them exactly, also after a zero point
  const std::int64_t least = *to == DType::u8 ? 0 : *to == DType::i8 ? -128 : -kFarthest;
  const std::int64_t most = *to == DType::u8 ? 255 : *to == DType::i8 ? 127 : kFarthest;
  if (low >= high || low < least || high > most)
    reject("{} to {} cannot have the range {} to {}", op, name_of(*to), low, high);
  return *to;
}

std::vector<TensorType> infer_quantize(const std::vector<TensorType>& in, const Attrs& attrs) {
  const DType to = target_of("quantize", attrs);
  expect_scale("quantize", in, attrs, to);
  expect_float("quantize", in[0]);
  return {{in[0].shape, to}};
}

std::vector<TensorType> infer_requantize(const std::vector<TensorType>& in, const Attrs& attrs) {
  const DType to = target_of("requantize", attrs);
  expect_scale("requantize", in, attrs, to);
  if (in[0].dtype != DType::i32) reject("requantize takes int32, not {}", name_of(in[0].dtype));
  return {{in[0].shape, to}};
}

std::vector<TensorType> infer_dequantize(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (!in.empty() && !is_8bit(in[0].dtype) && in[0].dtype != DType::i32)
    reject("dequantize takes uint8, int8 or int32, not {}", name_of(in[0].dtype));
  expect_scale("dequantize", in, attrs, in.empty() ? DType::u8 : in[0].dtype);
  return {{in[0].shape, in[1].dtype}};
}

// A division or product, a rounding, an addition, two bounds; on the way back a subtraction and a product.
template <int kOperations>
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = kOperations * double(p.outputs[0].shape.numel());
  return c;
}

}  // namespace
}  // namespace quantize_schema_cc

ScaleMap scale_map(const Problem& p) {
  using namespace quantize_schema_cc;
  return map_of(p.op, p.inputs[0].shape, p.inputs[1].shape, p.attrs);
}

std::int64_t ScaleMap::rows() const {
  using namespace quantize_schema_cc;
  switch (kind) {
    case Kind::whole:
      return (inner + kRowElements - 1) / kRowElements;
    case Kind::axis:
      return inner == 1 ? outer : outer * length;
    default:
      return inner == 1 ? outer * blocks : outer * length;
  }
}

ScaleMap::Row ScaleMap::row(std::int64_t r) const {
  using namespace quantize_schema_cc;
  if (kind == Kind::whole) return {r * kRowElements, std::min(kRowElements, inner - r * kRowElements), 0, 0};
  if (kind == Kind::axis && inner == 1) return {r * length, length, 0, 1};
  if (kind == Kind::axis) return {r * inner, inner, r % length, 0};
  if (inner == 1) {
    const std::int64_t first = r % blocks * block;
    return {r / blocks * length + first, std::min(block, length - first), r, 0};
  }
  return {r * inner, inner, (r / length * blocks + r % length / block) * inner, 1};
}

std::int64_t ScaleMap::scale_of(std::int64_t element) const {
  const std::int64_t i = element % inner, j = element / inner % length, o = element / inner / length;
  if (kind == Kind::whole) return 0;
  return kind == Kind::axis ? j : (o * blocks + j / block) * inner + i;
}

OpSchema quantize_schema() {
  using namespace quantize_schema_cc;
  return {.name = "quantize", .infer = infer_quantize, .cost = cost<5>, .keeps_fp32 = {1}};
}
OpSchema requantize_schema() {
  using namespace quantize_schema_cc;
  return {.name = "requantize", .infer = infer_requantize, .cost = cost<5>, .keeps_fp32 = {1}};
}
OpSchema dequantize_schema() {
  using namespace quantize_schema_cc;
  return {.name = "dequantize", .infer = infer_dequantize, .cost = cost<2>};
}

}  // namespace headroom
