#pragma once

// What the conversions of quantised operators share.

#include "models/onnx/terms.h"

namespace headroom::onnx {

// An integer type of the format, as we hold it.
struct SmallType {
  DType dtype;
  std::int64_t low, high;
};
std::optional<SmallType> small_type(int type);  // of TensorProto.DataType; none for other types

// Inputs that are scales and zero points. The file is invalid if a scale is 0, or if a zero point has another
// type than the integers or another shape than the scales. An absent zero point is 0.
Term scale_input(Context& c, std::size_t i);
Term zero_input(Context& c, std::size_t i, DType integers, const Shape& scale);

// Floats by their scale, or int32 sums by a factor.
Term quantized(Context& c, const Term& x, const Term& scale, const Term& zero, const SmallType& to,
               Attrs where = {});
Term dequantized(Context& c, const Term& x, const Term& scale, const Term& zero);  // one scale for all

}  // namespace headroom::onnx
