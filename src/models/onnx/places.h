#pragma once

// Indices over several axes as places in a flattened tensor. Known indices give known places. An index
// outside its axis is refused: at once if it is known, else by the run.

#include "models/onnx/terms.h"

namespace headroom::onnx {

Ints strides_of(const Shape& shape);
// An index that may count from the end, from the front.
std::int64_t from_front(const Context& c, std::int64_t index, std::int64_t extent);
// The indices along an axis of `extent` elements, times a stride.
Term offsets(Context& c, const Term& indices, std::int64_t extent, std::int64_t stride);

// The last axis of the indices holds one position for each of the first axes of the data: the numbers of the
// rows that they name, as a vector.
Term row_places(Context& c, const Term& indices, const Shape& data);
// An index gives the position along one axis; the other coordinates are those of the index itself. Of the
// shape of the indices.
Term element_places(Context& c, const Term& indices, const Shape& data, int axis);

}  // namespace headroom::onnx
