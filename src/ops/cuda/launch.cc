#include "ops/cuda/launch.h"

#include "ops/broadcast.h"

namespace headroom::cuda {

Loop loop_of(const Shape& out, const std::vector<Shape>& operands) {
  const BroadcastLoop from = broadcast_loop(out, operands);
  Loop loop{.rank = from.rank, .numel = from.numel()};
  for (int axis = 0; axis < from.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    loop.extent[axis] = from.extent[a];
    for (std::size_t k = 0; k < 3; ++k) loop.step[axis][k] = from.step[a][k];
  }
  return loop;
}

}  // namespace headroom::cuda
