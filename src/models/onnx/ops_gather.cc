// Elements picked by indices of several axes: places in the flattened tensor, which one gather then takes.

#include <algorithm>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

Ints strides_of(const Shape& shape) {
  Ints strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int a = shape.rank() - 1; a-- > 0;)
    strides[static_cast<std::size_t>(a)] = strides[static_cast<std::size_t>(a + 1)] * shape[a + 1];
  return strides;
}

// Indices from the end become those from the front.
Term from_front(Context& c, const Term& indices, std::int64_t extent) {
  const Term wide = cast_to(c, indices, DType::i64);
  if (wide.known) {
    const Ints list = wide.known->integers();
    if (std::all_of(list.begin(), list.end(), [](std::int64_t i) { return i >= 0; })) return wide;
  }
  return apply(c, "mod", {wide, number_like(c, wide, static_cast<double>(extent))});
}

Term times(Context& c, const Term& x, std::int64_t factor) {
  return factor == 1 ? x : apply(c, "mul", {x, number_like(c, x, static_cast<double>(factor))});
}

// The last axis of the indices names a place on each of the first axes of the data.
Results convert_gather_nd(Context& c) {
  c.require_inputs(2, 2);
  if (c.integer("batch_dims", 0) != 0) c.unsupported("batch_dims");
  const Shape data = c.shape(0), indices = c.shape(1);
  const std::int64_t depth = indices[indices.rank() - 1];
  if (indices.rank() < 1 || depth < 1 || depth > data.rank())
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const Ints strides = strides_of(data);
  const std::int64_t inner = strides[static_cast<std::size_t>(depth - 1)];
  Ints dims(indices.dims().begin(), indices.dims().end() - 1);
  const std::int64_t count = Shape(dims).numel();
  const Term flat = reshaped(c, input(c, 1), {count, depth});
  std::vector<Term> parts = {flat};
  if (depth > 1)
    parts = apply_all(c, "split", {flat},
                      {{"axis", std::int64_t{1}}, {"sizes", Ints(static_cast<std::size_t>(depth), 1)}});
  Term place;
  for (std::size_t a = 0; a < parts.size(); ++a) {
    const Term step = times(c, from_front(c, parts[a], data[static_cast<int>(a)]), strides[a] / inner);
    place = a == 0 ? step : apply(c, "add", {place, step});
  }
  const Term rows = reshaped(c, input(c, 0), {data.numel() / inner, inner});
  const Term taken = apply(c, "gather", {rows, reshaped(c, place, {count})}, {{"axis", std::int64_t{0}}});
  dims.insert(dims.end(), data.dims().begin() + depth, data.dims().end());
  return {reshaped(c, taken, dims)};
}

// Along one axis at the place the index says, along the others where the index itself stands.
Results convert_gather_elements(Context& c) {
  c.require_inputs(2, 2);
  const Shape data = c.shape(0), indices = c.shape(1);
  if (data.rank() != indices.rank() || data.rank() < 1)
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const int axis = static_cast<int>(axis_in(c, c.integer("axis", 0), data.rank()));
  const Ints strides = strides_of(data);
  Ints base;
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    std::int64_t left = i, place = 0;
    for (int a = indices.rank(); a-- > 0;) {
      if (a != axis) place += left % indices[a] * strides[static_cast<std::size_t>(a)];
      left /= indices[a];
    }
    base.push_back(place);
  }
  const Term along =
      times(c, from_front(c, input(c, 1), data[axis]), strides[static_cast<std::size_t>(axis)]);
  const Term place = apply(c, "add", {along, integers(indices, base)});
  return {apply(c, "gather", {reshaped(c, input(c, 0), {data.numel()}), place}, {{"axis", std::int64_t{0}}})};
}

}  // namespace

std::vector<Conversion> gather_conversions() {
  return {{"GatherND", convert_gather_nd}, {"GatherElements", convert_gather_elements}};
}

}  // namespace headroom::onnx
