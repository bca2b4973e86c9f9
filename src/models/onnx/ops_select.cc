// Selections of elements: by a condition, in reverse order.

#include "models/onnx/places.h"

namespace headroom::onnx {
namespace {

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
  return {{"Compress", convert_compress}, {"ReverseSequence", convert_reverse_sequence}};
}

}  // namespace headroom::onnx
