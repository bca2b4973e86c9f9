#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/shape.h"

namespace headroom {

// Elements that came with a network, from a file. They stay in the file's memory, which the pointer keeps
// alive, at any alignment: read them through the functions below.
struct ConstantData {
  TensorType type;
  std::shared_ptr<const std::byte> data;
  bool repeated = false;  // one element for all: a large constant needs no memory

  std::int64_t count() const { return type.shape.numel(); }
  std::size_t stored_bytes() const { return (repeated ? 1 : std::size_t(count())) * size_of(type.dtype); }
  // One element, of any type. integer() truncates floats and refuses NaN and values out of range.
  double real(std::int64_t index) const;
  std::int64_t integer(std::int64_t index) const;
  std::vector<double> reals() const;
  std::vector<std::int64_t> integers() const;
  // Converts all elements to another type; `out` has room for count() elements.
  void convert(DType to, void* out) const;
};

// Copies the caller's elements.
ConstantData constant_data(const Shape& shape, std::span<const std::int64_t> elements);
ConstantData constant_data(const Shape& shape, std::span<const double> elements, DType dtype);
ConstantData repeated_constant(const Shape& shape, DType dtype, double element);

}  // namespace headroom
