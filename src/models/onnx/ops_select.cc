// Selections of elements: by a condition, by size, in reverse order.

#include "models/onnx/counted.h"
#include "models/onnx/places.h"

namespace headroom::onnx {
namespace {

// One column of coordinates for each element that is not 0.
Results convert_non_zero(Context& c) {
  c.require_inputs(1, 1);
  const std::vector<Term> found = apply_all(c, "non_zero", {input(c, 0)});
  return {counted_by(c, found[0], 1, found[1])};
}

// A k that depends on the data sorts the whole axis; a table refuses one that is larger than it.
Results convert_top_k(Context& c) {
  const Term x = input(c, 0);
  const Shape shape = shape_of(c, x);
  const std::int64_t axis = axis_in(c, c.integer("axis", -1), shape.rank());
  const std::int64_t extent = shape[static_cast<int>(axis)], largest = c.integer("largest", 1);
  const bool known = c.opset() < 10 || c.is_known(1);
  const std::int64_t k = !known ? extent : c.opset() < 10 ? c.integer("k") : known_integer(c, 1);
  if (k < 0 || k > extent) c.invalid(fmt::format("k is {}, but the axis has {} elements", k, extent));
  if (k == 0) c.unsupported("a result without elements");
  const std::vector<Term> found =
      apply_all(c, "top_k", {wide_integers(c, x)}, {{"axis", axis}, {"k", k}, {"largest", largest}});
  const Term values = cast_to(c, found[0], type_of(c, x).dtype);
  if (known) return {values, found[1]};
  const Term given_k = reshaped(c, input(c, 1), {});
  const Term count = apply(c, "gather", {positions(extent + 1, 0, 1), given_k}, {{"axis", std::int64_t{0}}});
  return {counted_by(c, values, static_cast<int>(axis), count),
          counted_by(c, found[1], static_cast<int>(axis), count)};
}

// The slices of an axis for which the condition holds; without an axis, of the flattened tensor.
Results convert_compress(Context& c) {
  c.require_inputs(2, 2);
  Term x = input(c, 0);
  std::int64_t axis = 0;
  if (c.has("axis"))
    axis = axis_in(c, c.integer("axis"), c.shape(0).rank());
  else
    x = reshaped(c, x, {c.shape(0).numel()});
  const std::int64_t extent = shape_of(c, x)[static_cast<int>(axis)];
  if (c.shape(1).rank() != 1 || c.shape(1)[0] > extent)
    c.invalid(fmt::format("a condition of {} for an axis of {} elements", c.shape(1).str(), extent));
  if (!c.is_known(1)) {
    const std::vector<Term> found = apply_all(c, "non_zero", {input(c, 1)});
    const Term places = reshaped(c, found[0], {c.shape(1)[0]});
    return {
        counted_by(c, apply(c, "gather", {x, places}, {{"axis", axis}}), static_cast<int>(axis), found[1])};
  }
  Ints kept;
  const ConstantData& condition = c.known(1);
  for (std::int64_t i = 0; i < condition.count(); ++i)
    if (condition.integer(i) != 0) kept.push_back(i);
  if (kept.empty()) c.unsupported("nothing is left");
  const auto count = static_cast<std::int64_t>(kept.size());
  return {apply(c, "gather", {x, integers({count}, kept)}, {{"axis", axis}})};
}

// The first elements of each sequence in reverse order, the others as they are.
Results convert_reverse_sequence(Context& c) {
  c.require_inputs(2, 2);
  const Shape x = c.shape(0);
  const std::int64_t time = c.integer("time_axis", 0), batch = c.integer("batch_axis", 1);
  if (x.rank() < 2 || time + batch != 1 || time * batch != 0)
    c.invalid(fmt::format("time_axis {} and batch_axis {} of {}", time, batch, x.str()));
  const std::int64_t steps = x[static_cast<int>(time)], sequences = x[static_cast<int>(batch)];
  if (c.shape(1) != Shape{sequences})
    c.invalid(fmt::format("lengths {} of {} sequences", c.shape(1).str(), sequences));
  const Term at = positions(steps, time, 2);
  Ints dims = {1, 1};
  dims[static_cast<std::size_t>(batch)] = sequences;
  const Term lengths = reshaped(c, cast_to(c, input(c, 1), DType::i64), dims);
  const Term mirror = apply(c, "sub", {apply(c, "sub", {lengths, integers({}, {1})}), at});
  const Term from = apply(c, "where", {apply(c, "less", {at, lengths}), mirror, at});
  const Term along = offsets(c, from, steps, time == 0 ? sequences : 1);
  const Term base = apply(c, "mul", {positions(sequences, batch, 2), integers({}, {time == 0 ? 1 : steps})});
  const Term place = reshaped(c, apply(c, "add", {along, base}), {steps * sequences});
  const Term rows = reshaped(c, input(c, 0), {steps * sequences, x.numel() / (steps * sequences)});
  return {reshaped(c, apply(c, "gather", {rows, place}, {{"axis", std::int64_t{0}}}), x.vector())};
}

}  // namespace

std::vector<Conversion> select_conversions() {
  return {{"Compress", convert_compress},
          {"ReverseSequence", convert_reverse_sequence},
          {"NonZero", convert_non_zero},
          {"TopK", convert_top_k}};
}

}  // namespace headroom::onnx
