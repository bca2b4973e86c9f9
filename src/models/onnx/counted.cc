#include "models/onnx/counted.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace headroom::onnx {
namespace {

// How an operator carries the counted axis of its input i; it refuses by unsupported().
using Carry = Counted (*)(Context& c, std::size_t i, const Counted& from);

[[noreturn]] void refuse_size(const Context& c, std::size_t i) {
  c.unsupported(fmt::format("the size of '{}' depends on the data", c.input_name(i)));
}

bool same_count(const Counted& a, const Counted& b) { return a.axis == b.axis && a.count == b.count; }

// Operands are aligned at their last axis. An operand that is not counted must be broadcast along the axis.
Counted carry_elementwise(Context& c, std::size_t i, const Counted& from) {
  int rank = 0;
  for (std::size_t k = 0; k < c.inputs(); ++k)
    if (c.has_input(k)) rank = std::max(rank, c.shape(k).rank());
  const int axis = from.axis + rank - c.shape(i).rank();
  for (std::size_t k = 0; k < c.inputs(); ++k) {
    if (!c.has_input(k)) continue;
    const int own = axis - (rank - c.shape(k).rank());
    if (const auto& other = c.operand(k).counted)
      if (!same_count(*other, {own, from.count})) refuse_size(c, k);
    if (!c.operand(k).counted && own >= 0 && c.shape(k)[own] != 1) refuse_size(c, i);
  }
  return {axis, from.count};
}

Counted carry_cast(Context& c, std::size_t i, const Counted& from) {
  if (i != 0) refuse_size(c, i);
  return from;
}

Counted carry_transpose(Context& c, std::size_t, const Counted& from) {
  const int rank = c.shape(0).rank();
  Ints reverse;
  for (int a = rank; a-- > 0;) reverse.push_back(a);
  const Ints perm = axes_in(c, c.integers("perm", reverse), rank);
  return {static_cast<int>(std::ranges::find(perm, from.axis) - perm.begin()), from.count};
}

Counted carry_squeeze(Context& c, std::size_t i, const Counted& from) {
  const auto named = c.integers_of("axes", 1);
  if (i != 0 || !named) refuse_size(c, i);
  int axis = from.axis;
  for (const std::int64_t gone : axes_in(c, *named, c.shape(0).rank())) {
    if (gone == from.axis) refuse_size(c, i);
    axis -= gone < from.axis ? 1 : 0;
  }
  return {axis, from.count};
}

Counted carry_unsqueeze(Context& c, std::size_t i, const Counted& from) {
  const auto named = c.integers_of("axes", 1);
  if (i != 0 || !named) refuse_size(c, i);
  Ints axes = axes_in(c, *named, c.shape(0).rank() + static_cast<int>(named->size()));
  std::ranges::sort(axes);
  int axis = from.axis;
  for (const std::int64_t made : axes) axis += made <= axis ? 1 : 0;
  return {axis, from.count};
}

// By counted indices, or counted data along another axis.
Counted carry_gather(Context& c, std::size_t i, const Counted& from) {
  if (c.operand(1 - i).counted) refuse_size(c, 1 - i);
  const auto axis = static_cast<int>(axis_in(c, c.integer("axis", 0), c.shape(0).rank()));
  if (i == 1) return {axis + from.axis, from.count};
  if (from.axis == axis) refuse_size(c, i);
  return {from.axis < axis ? from.axis : from.axis + c.shape(1).rank() - 1, from.count};
}

Counted carry_gather_nd(Context& c, std::size_t i, const Counted& from) {
  if (i != 1 || c.operand(0).counted || from.axis == c.shape(1).rank() - 1) refuse_size(c, i);
  return from;
}

// Along another axis, or the first elements of this one.
Counted carry_slice(Context& c, std::size_t i, const Counted& from) {
  if (i != 0) refuse_size(c, i);
  const Ints starts = c.required_integers("starts", 1), ends = c.required_integers("ends", 2);
  Ints axes;
  for (std::size_t k = 0; k < starts.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
  axes = axes_in(c, c.integers_of("axes", 3).value_or(axes), c.shape(0).rank());
  const Ints steps = c.has_input(4) ? c.known_integers(4) : Ints(starts.size(), 1);
  const auto at = static_cast<std::size_t>(std::ranges::find(axes, from.axis) - axes.begin());
  if (at == axes.size()) return from;
  if (ends.size() != axes.size() || steps.size() != axes.size() || starts[at] != 0 || steps[at] != 1 ||
      ends[at] < 1)
    refuse_size(c, i);
  if (ends[at] >= c.shape(0)[from.axis]) return from;
  return {from.axis, value_of(c, apply(c, "minimum", {Term(from.count), integers({}, {ends[at]})}))};
}

// All of them along another axis.
Counted carry_concat(Context& c, std::size_t i, const Counted& from) {
  if (axis_in(c, c.integer("axis", 1), c.shape(0).rank()) == from.axis) refuse_size(c, i);
  for (std::size_t k = 0; k < c.inputs(); ++k)
    if (!c.operand(k).counted || !same_count(*c.operand(k).counted, from)) refuse_size(c, i);
  return from;
}

Counted carry_split(Context& c, std::size_t i, const Counted& from) {
  if (i != 0 || axis_in(c, c.integer("axis", 0), c.shape(0).rank()) == from.axis) refuse_size(c, i);
  return from;
}

// The axis keeps its place between as many elements before it and behind it; the file leaves its size open.
Counted carry_reshape(Context& c, std::size_t i, const Counted& from) {
  const auto wanted = c.integers_of("shape", 1);
  if (i != 0 || !wanted) refuse_size(c, i);
  const Shape x = c.shape(0);
  std::int64_t before = 1;
  for (int a = 0; a < from.axis; ++a) before *= x[a];
  std::int64_t so_far = 1, product = 1;
  for (std::size_t b = 0; b < wanted->size(); ++b)
    if (const std::int64_t d = (*wanted)[b]; d != -1)
      product *= d == 0 && static_cast<int>(b) < x.rank() ? x[static_cast<int>(b)] : d;
  for (std::size_t b = 0; b < wanted->size(); ++b) {
    const std::int64_t d = (*wanted)[b];
    const bool kept = d == 0 && static_cast<int>(b) == from.axis;
    const bool rest = d == -1 && product > 0 && x.numel() / product == x[from.axis];
    if ((kept || rest) && so_far == before) return {static_cast<int>(b), from.count};
    if (d == -1) refuse_size(c, i);
    so_far *= d == 0 && static_cast<int>(b) < x.rank() ? x[static_cast<int>(b)] : d;
  }
  refuse_size(c, i);
}

Counted carry_flatten(Context& c, std::size_t i, const Counted& from) {
  const std::int64_t axis = c.integer("axis", 1);
  if (from.axis != 0 || axis != 1) refuse_size(c, i);
  return from;
}

// Each row for itself: a softmax or a reduction along other axes.
Counted carry_along_axis(Context& c, std::size_t i, const Counted& from) {
  const int rank = c.shape(0).rank();
  const std::int64_t axis = axis_in(c, c.integer("axis", c.opset() < 13 ? 1 : -1), rank);
  const bool joins = c.opset() < 13 && axis < from.axis;
  if (axis == from.axis || joins) refuse_size(c, i);
  return from;
}

Counted carry_reduce(Context& c, std::size_t i, const Counted& from) {
  const auto named = c.integers_of("axes", 1);
  if (i != 0 || !named || named->empty()) refuse_size(c, i);
  int axis = from.axis;
  const bool keep = c.integer("keepdims", 1) != 0;
  for (const std::int64_t gone : axes_in(c, *named, c.shape(0).rank())) {
    if (gone == from.axis) refuse_size(c, i);
    axis -= !keep && gone < from.axis ? 1 : 0;
  }
  return {axis, from.count};
}

// Rows of the first factor.
Counted carry_product(Context& c, std::size_t i, const Counted& from) {
  const bool rows = i == 0 && c.shape(0).rank() == 2 && c.shape(1).rank() == 2 && from.axis == 0;
  if (!rows || (c.op() == "Gemm" && c.integer("transA", 0) != 0)) refuse_size(c, i);
  if (c.has_input(2) && c.shape(2).rank() == 2 && c.shape(2)[0] != 1) refuse_size(c, i);
  return from;
}

const std::map<std::string_view, Carry>& carriers() {
  static const auto table = [] {
    std::map<std::string_view, Carry> all = {
        {"Cast", carry_cast},          {"CastLike", carry_cast},       {"Transpose", carry_transpose},
        {"Squeeze", carry_squeeze},    {"Unsqueeze", carry_unsqueeze}, {"Gather", carry_gather},
        {"GatherND", carry_gather_nd}, {"Slice", carry_slice},         {"Concat", carry_concat},
        {"Split", carry_split},        {"Reshape", carry_reshape},     {"Flatten", carry_flatten},
        {"MatMul", carry_product},     {"Gemm", carry_product},        {"Identity", carry_cast},
        {"Softmax", carry_along_axis}, {"Hardmax", carry_along_axis},  {"LogSoftmax", carry_along_axis}};
    for (const Conversion& conversion : pointwise_conversions())
      all.emplace(conversion.op, carry_elementwise);
    for (const Conversion& conversion : reduce_conversions())
      if (conversion.op.starts_with("Reduce")) all.emplace(conversion.op, carry_reduce);
    return all;
  }();
  return table;
}

// The first elements of an axis.
ConstantData first_elements(const ConstantData& all, int axis, std::int64_t count) {
  Shape shape = all.type.shape;
  std::int64_t inner = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
  const std::int64_t whole = shape[axis] * inner;
  shape[axis] = count;
  std::vector<double> kept;
  for (std::int64_t i = 0; i < all.count(); ++i)
    if (i % whole < count * inner) kept.push_back(all.real(i));
  return constant_data(shape, kept, all.type.dtype);
}

}  // namespace

Term counted_by(Context& c, const Term& term, int axis, const Term& found) {
  if (term.known && found.known && found.known->integer(0) > 0)
    return first_elements(*term.known, axis, found.known->integer(0));
  Term padded = value_of(c, term);
  padded.counted = Counted{axis, value_of(c, found)};
  return padded;
}

std::optional<Counted> counted_results(Context& c) {
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (!c.operand(i).counted) continue;
    const auto it = carriers().find(c.op());
    if (it == carriers().end() || !c.is_own()) refuse_size(c, i);
    return it->second(c, i, *c.operand(i).counted);
  }
  return std::nullopt;
}

}  // namespace headroom::onnx
