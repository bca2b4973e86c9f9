#include "models/onnx/places.h"

namespace headroom::onnx {

Ints strides_of(const Shape& shape) {
  Ints strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int a = shape.rank() - 1; a-- > 0;)
    strides[static_cast<std::size_t>(a)] = strides[static_cast<std::size_t>(a + 1)] * shape[a + 1];
  return strides;
}

std::int64_t from_front(const Context& c, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    c.invalid(fmt::format("index {} is outside an axis of {} elements", index, extent));
  return index < 0 ? index + extent : index;
}

// A table gives them, because a gather refuses indices outside it.
Term offsets(Context& c, const Term& indices, std::int64_t extent, std::int64_t stride) {
  Ints list;
  if (indices.known) {
    for (const std::int64_t index : indices.known->integers())
      list.push_back(from_front(c, index, extent) * stride);
    return integers(shape_of(c, indices), list);
  }
  need_small(c, extent);
  for (std::int64_t i = 0; i < extent; ++i) list.push_back(i * stride);
  return apply(c, "gather", {integers({extent}, list), indices}, {{"axis", std::int64_t{0}}});
}

Term row_places(Context& c, const Term& indices, const Shape& data) {
  const Shape shape = shape_of(c, indices);
  const std::int64_t depth = shape[shape.rank() - 1], count = shape.numel() / depth;
  const Ints strides = strides_of(data);
  const std::int64_t inner = strides[static_cast<std::size_t>(depth - 1)];
  const Term flat = reshaped(c, indices, {count, depth});
  std::vector<Term> parts = {flat};
  if (depth > 1)
    parts = apply_all(c, "split", {flat},
                      {{"axis", std::int64_t{1}}, {"sizes", Ints(static_cast<std::size_t>(depth), 1)}});
  Term place;
  for (std::size_t a = 0; a < parts.size(); ++a) {
    const Term step = offsets(c, parts[a], data[static_cast<int>(a)], strides[a] / inner);
    place = a == 0 ? step : apply(c, "add", {place, step});
  }
  return reshaped(c, place, {count});
}

Term element_places(Context& c, const Term& indices, const Shape& data, int axis) {
  const Shape shape = shape_of(c, indices);
  const Ints strides = strides_of(data);
  need_small(c, shape.numel());
  for (int a = 0; a < data.rank(); ++a)
    if (a != axis && shape[a] > data[a])
      c.invalid(fmt::format("indices {} into {}", shape.str(), data.str()));
  Ints base;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::int64_t left = i, place = 0;
    for (int a = shape.rank(); a-- > 0;) {
      if (a != axis) place += left % shape[a] * strides[static_cast<std::size_t>(a)];
      left /= shape[a];
    }
    base.push_back(place);
  }
  const Term along = offsets(c, indices, data[axis], strides[static_cast<std::size_t>(axis)]);
  return apply(c, "add", {along, integers(shape, base)});
}

}  // namespace headroom::onnx
