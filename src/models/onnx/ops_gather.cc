// Gathers by indices over several axes: computes positions in the flattened tensor, then does one gather.

#include "models/onnx/places.h"

namespace headroom::onnx {
namespace {

// The first axes are those of both tensors: each of their positions has indices and data of its own.
Results gather_batches(Context& c, std::int64_t shared) {
  const Shape data = c.shape(0), indices = c.shape(1);
  if (data.numel() == 0) c.unsupported("data without elements");
  const std::int64_t depth = indices.rank() < 1 ? 0 : indices[indices.rank() - 1];
  if (shared < 0 || shared >= indices.rank() || depth < 1 || shared + depth > data.rank())
    c.invalid(fmt::format("indices {} into {} with {} shared axes", indices.str(), data.str(), shared));
  std::int64_t batches = 1;
  for (int a = 0; a < shared; ++a) {
    if (data[a] != indices[a]) c.invalid(fmt::format("indices {} into {}", indices.str(), data.str()));
    batches *= data[a];
  }
  const Ints strides = strides_of(data);
  const std::int64_t each = indices.numel() / (batches * depth),
                     inner = strides[static_cast<std::size_t>(shared + depth - 1)],
                     batch_rows = data.numel() / (batches * inner);
  const Term wide = reshaped(c, cast_to(c, input(c, 1), DType::i64), {batches, each, depth});
  Term place = apply(c, "mul", {positions(batches, 0, 2), integers({}, {batch_rows})});
  for (std::int64_t d = 0; d < depth; ++d) {
    const Term along = reshaped(c, sliced(c, wide, 2, d, d + 1), {batches, each});
    const auto axis = static_cast<std::size_t>(shared + d);
    place = apply(c, "add", {place, offsets(c, along, data[static_cast<int>(axis)], strides[axis] / inner)});
  }
  const Term rows = reshaped(c, input(c, 0), {data.numel() / inner, inner});
  Ints dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), data.dims().begin() + shared + depth, data.dims().end());
  return {reshaped(
      c, apply(c, "gather", {rows, reshaped(c, place, {batches * each})}, {{"axis", std::int64_t{0}}}),
      dims)};
}

// The last axis of the indices holds one position for each of the first axes of the data.
Results convert_gather_nd(Context& c) {
  c.require_inputs(2, 2);
  if (const std::int64_t shared = c.integer("batch_dims", 0); shared != 0) return gather_batches(c, shared);
  const Shape data = c.shape(0), indices = c.shape(1);
  if (data.numel() == 0) c.unsupported("data without elements");
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
  if (data.numel() == 0) c.unsupported("data without elements");
  const int axis = static_cast<int>(axis_in(c, c.integer("axis", 0), data.rank()));
  const Term place = element_places(c, input(c, 1), data, axis);
  return {apply(c, "gather", {reshaped(c, input(c, 0), {data.numel()}), place}, {{"axis", std::int64_t{0}}})};
}

}  // namespace

std::vector<Conversion> gather_conversions() {
  return {{"GatherND", convert_gather_nd}, {"GatherElements", convert_gather_elements}};
}

}  // namespace headroom::onnx
