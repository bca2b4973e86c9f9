// Gathers by indices over several axes: computes positions in the flattened tensor, then does one gather.

#include "models/onnx/places.h"

namespace headroom::onnx {
namespace {

// The last axis of the indices holds one position for each of the first axes of the data.
Results convert_gather_nd(Context& c) {
  c.require_inputs(2, 2);
  if (c.integer("batch_dims", 0) != 0) c.unsupported("batch_dims");
  const Shape data = c.shape(0), indices = c.shape(1);
  const std::int64_t depth = indices.rank() < 1 ? 0 : indices[indices.rank() - 1];
  if (indices.rank() < 1 || depth < 1 || depth > data.rank())
    c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
  const std::int64_t inner = strides_of(data)[static_cast<std::size_t>(depth - 1)];
  Ints dims(indices.dims().begin(), indices.dims().end() - 1);
  const Term place = row_places(c, input(c, 1), data);
  const Term rows = reshaped(c, input(c, 0), {data.numel() / inner, inner});
  const Term taken = apply(c, "gather", {rows, place}, {{"axis", std::int64_t{0}}});
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
  const Term place = element_places(c, input(c, 1), data, axis);
  return {apply(c, "gather", {reshaped(c, input(c, 0), {data.numel()}), place}, {{"axis", std::int64_t{0}}})};
}

}  // namespace

std::vector<Conversion> gather_conversions() {
  return {{"GatherND", convert_gather_nd}, {"GatherElements", convert_gather_elements}};
}

}  // namespace headroom::onnx
