#include "ops/non_max_suppression/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/non_max_suppression/non_max_suppression.h"

namespace headroom {

Launcher prepare_non_max_suppression_cuda(const Problem& p, const LaunchContext&) {
  const NmsSizes s = nms_sizes(p);
  return [dtype = p.inputs[0].dtype,
          shape = cuda::NmsShape{s.images, s.classes, s.boxes, s.bound, s.center}](const LaunchArgs& a) {
    cuda::non_max_suppression(dtype, shape,
                              {a.inputs[0], a.inputs[1], a.in<std::int64_t>(2), a.inputs[3], a.inputs[4],
                               a.out<std::int64_t>(0), a.out<std::int64_t>(1)},
                              a.workspace, cuda::stream_of(a));
  };
}

}  // namespace headroom
