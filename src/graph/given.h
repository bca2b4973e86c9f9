#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/shape.h"

namespace headroom {

// Elements that came with a network, from a file. They lie where the file was read to, which the pointer
// keeps alive, at any address: read them through the functions below.
struct Given {
  TensorType type;
  std::shared_ptr<const std::byte> data;
  bool repeated = false;  // one element stands for all: a large constant costs no memory

  std::int64_t count() const { return type.shape.numel(); }
  std::size_t stored_bytes() const { return (repeated ? 1 : std::size_t(count())) * size_of(type.dtype); }
  // One element, of any type; a float as an integer is cut off, and NaN and what is out of range refused.
  double real(std::int64_t index) const;
  std::int64_t integer(std::int64_t index) const;
  std::vector<double> reals() const;
  std::vector<std::int64_t> integers() const;
  // All elements as another type, into count() elements of it.
  void convert(DType to, void* out) const;
};

// Copies of what the caller has.
Given given(const Shape& shape, std::span<const std::int64_t> elements);
Given given(const Shape& shape, std::span<const double> elements, DType dtype);
Given given_repeated(const Shape& shape, DType dtype, double element);

}  // namespace headroom
