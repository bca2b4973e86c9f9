#pragma once

// Stretching tensors to a common shape as NumPy and ONNX do: shapes are aligned at their last axis, and an
// extent of 1, or a missing one, repeats.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/schema.h"

namespace headroom {

// The common shape; rejects what does not fit, naming the operator.
Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b);

// Where element `flat` of `out` finds its value in an operand: the definition, for references.
std::int64_t broadcast_index(const Shape& out, const Shape& operand, std::int64_t flat);

// The gradient of a stretched operand: sums over what was repeated and gives it the operand's shape. Emits
// nothing where the shapes are equal. By value: a shape inside the graph would move as nodes are added.
ValueId sum_to(const GradientContext& context, ValueId gradient, Shape shape);

// The loops over an output and up to three operands, in as few axes as will do: neighbours that all operands
// stride through alike are one. Steps of the innermost axis are 0 or 1.
struct BroadcastLoop {
  static constexpr int kMaxOperands = 3;
  using Offsets = std::array<std::int64_t, kMaxOperands>;

  int rank = 0;
  int operands = 0;
  std::array<std::int64_t, Shape::kMaxRank> extent{};
  std::array<Offsets, Shape::kMaxRank> step{};

  std::int64_t numel() const;
  std::int64_t inner() const { return extent[static_cast<std::size_t>(rank - 1)]; }
  const Offsets& inner_step() const { return step[static_cast<std::size_t>(rank - 1)]; }

  // Calls body(at, length, offsets) for the elements [begin, end) of the output, a row of the innermost axis,
  // or part of one, at a time.
  template <class Body>
  void each_row(std::int64_t begin, std::int64_t end, Body&& body) const;
};

BroadcastLoop broadcast_loop(const Shape& out, const std::vector<Shape>& operands);

template <class Body>
void BroadcastLoop::each_row(std::int64_t begin, std::int64_t end, Body&& body) const {
  std::array<std::int64_t, Shape::kMaxRank> index{};
  Offsets at{};
  std::int64_t left = begin;
  for (int axis = rank; axis-- > 0;) {
    const auto k = static_cast<std::size_t>(axis);
    index[k] = left % extent[k];
    left /= extent[k];
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += index[k] * step[k][i];
  }
  const auto last = static_cast<std::size_t>(rank - 1);
  while (begin < end) {
    const std::int64_t length = std::min(extent[last] - index[last], end - begin);
    body(begin, length, at);
    begin += length;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] -= index[last] * step[last][i];
    index[last] = 0;
    for (std::size_t k = last; k-- > 0;) {
      for (std::size_t i = 0; i < at.size(); ++i) at[i] += step[k][i];
      if (++index[k] < extent[k]) break;
      for (std::size_t i = 0; i < at.size(); ++i) at[i] -= extent[k] * step[k][i];
      index[k] = 0;
    }
  }
}

}  // namespace headroom
