#include "ops/broadcast.h"

#include <algorithm>

#include "graph/graph.h"

namespace headroom {
namespace broadcast_cc {
namespace {

// Extent of `axis` of `out` within an operand: 1 where the operand has no such axis.
std::int64_t extent_of(const Shape& operand, int rank, int axis) {
  const int own = axis - (rank - operand.rank());
  return own < 0 ? 1 : operand[own];
}

}  // namespace
}  // namespace broadcast_cc

Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b) {
  using namespace broadcast_cc;
  Shape out = a.rank() > b.rank() ? a : b;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const std::int64_t x = extent_of(a, out.rank(), axis), y = extent_of(b, out.rank(), axis);
    if (x != y && x != 1 && y != 1)
      reject(Hint{"counted from the last axis, extents must be equal or 1"},
             "{}: {} and {} have no common shape", op, a.str(), b.str());
    out[axis] = x == 1 ? y : x;
  }
  return out;
}

std::int64_t broadcast_index(const Shape& out, const Shape& operand, std::int64_t flat) {
  using namespace broadcast_cc;
  std::int64_t index = 0, stride = 1;
  for (int axis = out.rank(); axis-- > 0;) {
    const std::int64_t extent = extent_of(operand, out.rank(), axis);
    if (extent > 1) index += flat % out[axis] * stride;
    flat /= out[axis];
    stride *= extent;
  }
  return index;
}

ValueId sum_to(const GradientContext& context, ValueId gradient, Shape shape) {
  using namespace broadcast_cc;
  const Shape from = context.graph.value(gradient).type.shape;
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from[axis] != extent_of(shape, from.rank(), axis)) axes.push_back(axis);
  if (!axes.empty()) gradient = context.emit("reduce_sum", {gradient}, {{"axes", axes}});
  if (from.rank() != shape.rank())
    gradient = context.emit("reshape", {gradient}, {{"shape", shape.vector()}});
  return gradient;
}

std::int64_t BroadcastLoop::numel() const {
  std::int64_t n = 1;
  for (int axis = 0; axis < rank; ++axis) n *= extent[static_cast<std::size_t>(axis)];
  return n;
}

BroadcastLoop broadcast_loop(const Shape& out, const std::vector<Shape>& operands) {
  using namespace broadcast_cc;
  BroadcastLoop loop{.rank = 0, .operands = static_cast<int>(operands.size())};
  BroadcastLoop::Offsets stride;
  stride.fill(1);
  // From the last axis outwards; kept in that order until the end.
  for (int axis = out.rank(); axis-- > 0;) {
    if (out[axis] == 1) continue;
    BroadcastLoop::Offsets step{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::int64_t extent = extent_of(operands[i], out.rank(), axis);
      step[i] = extent == 1 ? 0 : stride[i];
      stride[i] *= extent;
    }
    const auto inner = static_cast<std::size_t>(loop.rank - 1);
    bool joins = loop.rank > 0;
    for (std::size_t i = 0; joins && i < operands.size(); ++i)
      joins = step[i] == loop.step[inner][i] * loop.extent[inner];
    if (joins) {
      loop.extent[inner] *= out[axis];
    } else {
      loop.extent[static_cast<std::size_t>(loop.rank)] = out[axis];
      loop.step[static_cast<std::size_t>(loop.rank)] = step;
      ++loop.rank;
    }
  }
  if (loop.rank == 0) {  // one element: a row of length 1
    loop.rank = 1;
    loop.extent[0] = 1;
    loop.step[0].fill(1);
  }
  std::reverse(loop.extent.begin(), loop.extent.begin() + loop.rank);
  std::reverse(loop.step.begin(), loop.step.begin() + loop.rank);
  return loop;
}

}  // namespace headroom
