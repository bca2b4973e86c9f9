#include "ops/non_zero/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/non_zero/non_zero.h"

namespace headroom {

Launcher prepare_non_zero_cuda(const Problem& p, const LaunchContext&) {
  const Shape& x = p.inputs[0].shape;
  static_assert(Shape::kMaxRank <= 8);
  cuda::NonZeroShape shape{.rank = x.rank() == 0 ? 1 : x.rank(), .numel = x.numel()};
  shape.extent[0] = 1;
  for (int a = 0; a < x.rank(); ++a) shape.extent[a] = x[a];
  return [dtype = p.inputs[0].dtype, shape](const LaunchArgs& a) {
    cuda::non_zero(dtype, shape, a.inputs[0], a.out<std::int64_t>(0), a.out<std::int64_t>(1),
                   cuda::stream_of(a));
  };
}

}  // namespace headroom
