// Gathers and scatters by indices over several axes: computes positions in the flattened tensor, then does
// one gather.

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

std::int64_t from_front(const Context& c, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    c.invalid(fmt::format("index {} is outside an axis of {} elements", index, extent));
  return index < 0 ? index + extent : index;
}

// The offsets of indices along an axis; negative indices count from the end. A table gives them, because a
// gather refuses indices outside it.
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

// The last axis of the indices holds one position for each of the first axes of the data.
Results convert_gather_nd(Context& c) {
  c.require_inputs(2, 2);
  if (c.integer("batch_dims", 0) != 0) c.unsupported("batch_dims");
  const Shape data = c.shape(0), indices = c.shape(1);
  const std::int64_t depth = indices.rank() < 1 ? 0 : indices[indices.rank() - 1];
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
    const Term step = offsets(c, parts[a], data[static_cast<int>(a)], strides[a] / inner);
    place = a == 0 ? step : apply(c, "add", {place, step});
  }
  const Term rows = reshaped(c, input(c, 0), {data.numel() / inner, inner});
  const Term taken = apply(c, "gather", {rows, reshaped(c, place, {count})}, {{"axis", std::int64_t{0}}});
  dims.insert(dims.end(), data.dims().begin() + depth, data.dims().end());
  return {reshaped(c, taken, dims)};
}

// The index selects the position along one axis; the other coordinates are those of the index itself.
Results convert_gather_elements(Context& c) {
  c.require_inputs(2, 2);
  const Shape data = c.shape(0), indices = c.shape(1);
  if (data.rank() != indices.rank() || data.rank() < 1)
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const int axis = static_cast<int>(axis_in(c, c.integer("axis", 0), data.rank()));
  const Ints strides = strides_of(data);
  need_small(c, indices.numel());
  Ints base;
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    std::int64_t left = i, place = 0;
    for (int a = indices.rank(); a-- > 0;) {
      if (a != axis) place += left % indices[a] * strides[static_cast<std::size_t>(a)];
      left /= indices[a];
    }
    base.push_back(place);
  }
  for (int a = 0; a < data.rank(); ++a)
    if (a != axis && indices[a] > data[a])
      c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const Term along = offsets(c, input(c, 1), data[axis], strides[static_cast<std::size_t>(axis)]);
  const Term place = apply(c, "add", {along, integers(indices, base)});
  return {apply(c, "gather", {reshaped(c, input(c, 0), {data.numel()}), place}, {{"axis", std::int64_t{0}}})};
}

// `data` with rows replaced: row k of the updates goes to places[k]. With known places this is a row-by-row
// choice between two tensors; the last update of a place wins.
Term scattered(Context& c, const Term& data, const Term& updates, const Ints& places, std::int64_t rows,
               std::int64_t inner) {
  Ints from(static_cast<std::size_t>(rows), 0);
  std::vector<double> replaced(static_cast<std::size_t>(rows), 0);
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (places[k] < 0 || places[k] >= rows) c.invalid("an index out of range");
    from[static_cast<std::size_t>(places[k])] = static_cast<std::int64_t>(k);
    replaced[static_cast<std::size_t>(places[k])] = 1;
  }
  const auto count = static_cast<std::int64_t>(places.size());
  const Term moved = apply(c, "gather", {reshaped(c, updates, {count, inner}), integers({rows}, from)},
                           {{"axis", std::int64_t{0}}});
  const Term mask = constant_data({rows, 1}, replaced, DType::boolean);
  const Term y = apply(c, "where", {mask, moved, reshaped(c, data, {rows, inner})});
  return reshaped(c, y, shape_of(c, data).vector());
}

void need_replacement(const Context& c) {
  if (const std::string how = c.text("reduction", "none"); how != "none")
    c.unsupported(fmt::format("reduction '{}'", how));
}

Results convert_scatter_nd(Context& c) {
  c.require_inputs(3, 3);
  need_replacement(c);
  const Shape data = c.shape(0), indices = c.shape(1);
  const std::int64_t depth = indices.rank() < 1 ? 0 : indices[indices.rank() - 1];
  if (depth < 1 || depth > data.rank())
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  if (indices.numel() == 0) return {input(c, 0)};
  const ConstantData& known = c.known(1);
  need_small(c, known.count());
  const Ints strides = strides_of(data);
  const std::int64_t inner = strides[static_cast<std::size_t>(depth - 1)], rows = data.numel() / inner;
  need_small(c, rows);
  if (c.shape(2).numel() != indices.numel() / depth * inner)
    c.invalid(fmt::format("updates {} for indices {}", c.shape(2).str(), indices.str()));
  Ints places;
  for (std::int64_t k = 0; k < known.count() / depth; ++k) {
    std::int64_t place = 0;
    for (std::int64_t a = 0; a < depth; ++a) {
      const std::int64_t at = from_front(c, known.integer(k * depth + a), data[static_cast<int>(a)]);
      place += at * strides[static_cast<std::size_t>(a)] / inner;
    }
    places.push_back(place);
  }
  return {scattered(c, input(c, 0), input(c, 2), places, rows, inner)};
}

Results convert_scatter_elements(Context& c) {
  c.require_inputs(3, 3);
  need_replacement(c);
  const Shape data = c.shape(0), indices = c.shape(1);
  if (data.rank() != indices.rank() || data.rank() < 1 || c.shape(2) != indices)
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const int axis = static_cast<int>(axis_in(c, c.integer("axis", 0), data.rank()));
  const ConstantData& known = c.known(1);
  need_small(c, known.count());
  need_small(c, data.numel());
  const Ints strides = strides_of(data);
  Ints places;
  for (std::int64_t i = 0; i < known.count(); ++i) {
    std::int64_t left = i, place = 0;
    for (int a = indices.rank(); a-- > 0;) {
      const std::int64_t at = a == axis ? from_front(c, known.integer(i), data[a]) : left % indices[a];
      if (at >= data[a]) c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
      place += at * strides[static_cast<std::size_t>(a)];
      left /= indices[a];
    }
    places.push_back(place);
  }
  return {scattered(c, input(c, 0), input(c, 2), places, data.numel(), 1)};
}

}  // namespace

std::vector<Conversion> gather_conversions() {
  return {{"GatherND", convert_gather_nd},
          {"GatherElements", convert_gather_elements},
          {"ScatterND", convert_scatter_nd},
          {"ScatterElements", convert_scatter_elements},
          {"Scatter", convert_scatter_elements}};
}

}  // namespace headroom::onnx
