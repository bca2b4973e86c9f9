#pragma once

// Copies between two layouts of the same box of elements: what concat, split, slice and transpose come to.

#include <array>
#include <cstdint>
#include <span>

#include "base/shape.h"

namespace headroom {

struct StridedCopy {
  struct Axis {
    std::int64_t extent = 1, from = 0, to = 0;  // strides in elements, of either sign
  };
  std::array<Axis, Shape::kMaxRank> axes{};  // the fastest in `to` last
  int rank = 0;
  std::int64_t from = 0, to = 0;  // offsets of the first element
  std::int64_t numel() const;
};

// Sorts the axes by their stride in `to`, drops those of one element and joins those that lie in a row in
// both layouts: most transpositions of four axes are one of two.
StridedCopy strided_copy(std::span<const StridedCopy::Axis> axes, std::int64_t from = 0, std::int64_t to = 0);

// Rows where both layouts run along the same axis, tiles where they do not. T is any stored type.
template <class T>
void copy_strided(const StridedCopy& copy, const T* from, T* to);

// Strides of a dense tensor.
std::array<std::int64_t, Shape::kMaxRank> dense_strides(const Shape& shape);

// n elements of one value, by the team.
template <class T>
void fill_parallel(std::int64_t n, T* to, T value);

}  // namespace headroom
