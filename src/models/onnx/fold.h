#pragma once

// Arithmetic on shapes while a file is read: nodes whose inputs are all known, in int64 or fp64.

#include <vector>

#include "models/onnx/convert.h"

namespace headroom::onnx {

// Folds that only move elements, and folds that compute with them.
std::vector<Conversion> folds_that_arrange();
std::vector<Conversion> folds_that_compute();

Results fold_cast(Context& c);  // ops_cast.cc

// Computed elements, integers or reals, as a tensor of this type. Integers keep the low bits that it holds.
ConstantData made(const Context& c, const Shape& shape, const std::vector<double>& reals,
                  const Ints& integers, DType dtype);
// Rejects a shape that is too large to compute here.
Shape checked(const Context& c, const Ints& dims);
// The broadcast shape of two shapes.
Shape joined(const Context& c, const Shape& a, const Shape& b);

}  // namespace headroom::onnx
