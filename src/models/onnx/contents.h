#pragma once

// What the elements of a stored tensor say about its purpose: a mask and a table made by a formula differ
// from numbers that were learned.

#include <string>

#include "graph/constant_data.h"

namespace headroom::onnx {

// Each returns true only if the elements leave no doubt.
bool holds_mask_values(const ConstantData& tensor);   // infinities, NaN, or numbers that no weight has (-1e4)
bool is_uniform(const ConstantData& tensor);          // one number everywhere, as fresh biases and scales
bool is_two_valued_mask(const ConstantData& tensor);  // zero and one other number
bool repeats_few_values(const ConstantData& tensor);  // grids, coordinates, masks
bool is_whole_numbers(const ConstantData& tensor);    // different ones: anchors, strides
bool is_wave_table(const ConstantData& tensor);       // sines and cosines of positions
bool is_ramp_table(const ConstantData& tensor);       // straight lines along an axis: positions, slopes
bool is_distance_table(const ConstantData& tensor);   // multiples of one number in each matrix: ALiBi

// A number that formulas use: an integer, a short decimal, a root or a fraction of an integer.
bool is_formula_number(double value);
bool is_root_of_integer(double value);  // sqrt(n) or 1 / sqrt(n), n >= 2

}  // namespace headroom::onnx
