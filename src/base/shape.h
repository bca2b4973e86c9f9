#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace headroom {

// Extents of a tensor, outermost first. Stored inline, so copying a shape never allocates.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);
  explicit Shape(const std::vector<std::int64_t>& dims) : Shape(std::span(dims)) {}

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t numel() const;
  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  std::vector<std::int64_t> vector() const { return {dims_.begin(), dims_.begin() + rank_}; }
  Shape without_first() const;  // the shape of one item of a batch

  bool operator==(const Shape& other) const;
  std::string str() const;  // "128x3x224x224"; "scalar" for rank 0

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// The memory layout of a tensor of rank 4. Its shape is NxCxHxW (filters: MxCxKHxKW) in both; nhwc stores the
// channels of a pixel side by side.
enum class Layout : std::uint8_t { nchw, nhwc };
std::string_view name_of(Layout layout);

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;
  Layout layout = Layout::nchw;
  std::int64_t bytes() const { return shape.numel() * static_cast<std::int64_t>(size_of(dtype)); }
  // True if the elements have this order. With one channel, or one pixel, both orders are the same.
  bool lies_as(Layout order) const;
  std::string str() const;  // "128x3x224x224", plus ":nhwc" in that layout
  bool operator==(const TensorType&) const = default;
};

}  // namespace headroom
