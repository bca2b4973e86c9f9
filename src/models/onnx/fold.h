#pragma once

// Arithmetic on shapes, done while a file is read: nodes whose inputs are all known, in int64 or fp64.

#include <vector>

#include "models/onnx/convert.h"

namespace headroom::onnx {

// What only moves elements, and what computes with them.
std::vector<Conversion> folds_that_arrange();
std::vector<Conversion> folds_that_compute();

// Elements that were worked out, of one kind or the other, as a tensor of this type.
Given made(const Context& c, const Shape& shape, const std::vector<double>& reals, const Ints& integers,
           DType dtype);
// A shape that is not too large to be worked out here.
Shape checked(const Context& c, const Ints& dims);
// The shape that two others broadcast to.
Shape joined(const Context& c, const Shape& a, const Shape& b);

}  // namespace headroom::onnx
