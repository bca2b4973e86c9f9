#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/safetensors.h"

namespace headroom {

// One element as a number; exact but for 64-bit integers beyond 2^53.
double value_at(const NamedTensor& tensor, std::int64_t index);
std::vector<double> values_of(const NamedTensor& tensor);
std::string text_at(const NamedTensor& tensor, std::int64_t index);  // as people write it: 3, 0.25, true

// The same numbers in another type: integers from fractions are cut off, 16-bit floats are rounded.
NamedTensor as_type(const NamedTensor& tensor, DType to);

std::vector<std::int64_t> position_of(std::int64_t index, const Shape& shape);  // (n, c, h, w) of an element

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // those of ONNX's own test suite
};

// How far an array is from what was expected of it. An element is right within absolute + relative *
// |wanted|; NaN is right where NaN is wanted, and an infinity where the same one is. Integers and truth
// values must be equal.
struct Difference {
  std::string mismatch;  // of type or shape; empty: elements were compared
  std::int64_t elements = 0, wrong = 0;
  std::int64_t worst = -1;  // the element furthest beyond its tolerance, or furthest off where all are right
  double got = 0, wanted = 0, error = 0;
  bool passed() const { return mismatch.empty() && wrong == 0; }
};
Difference compare(const NamedTensor& got, const NamedTensor& wanted, const Tolerance& tolerance);

}  // namespace headroom
