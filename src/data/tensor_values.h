#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/safetensors.h"

namespace headroom {

// One element as a number; exact except for 64-bit integers beyond 2^53.
double value_at(const NamedTensor& tensor, std::int64_t index);
std::vector<double> values_of(const NamedTensor& tensor);
std::string text_at(const NamedTensor& tensor, std::int64_t index);  // in readable form: 3, 0.25, true

// The same numbers in another type: fractions are truncated to integers, 16-bit floats are rounded.
NamedTensor as_type(const NamedTensor& tensor, DType to);

std::vector<std::int64_t> position_of(std::int64_t index, const Shape& shape);  // (n, c, h, w) of an element

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // as in ONNX's own test suite
};

// The distance of an array from its expected values. An element is right within absolute + relative *
// |wanted|. NaN is right if NaN is wanted, an infinity if the same one is. Integers and truth values must be
// equal.
struct Difference {
  std::string mismatch;  // of type or shape; empty: elements were compared
  std::int64_t elements = 0, wrong = 0;
  std::int64_t worst = -1;  // furthest beyond its tolerance; if all are right, the largest error
  double got = 0, wanted = 0, error = 0;
  bool passed() const { return mismatch.empty() && wrong == 0; }
};
Difference compare(const NamedTensor& got, const NamedTensor& wanted, const Tolerance& tolerance);

}  // namespace headroom
