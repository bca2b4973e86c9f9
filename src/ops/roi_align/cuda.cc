#include "ops/roi_align/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/roi_align/roi_align.h"

namespace headroom {

Launcher prepare_roi_align_cuda(const Problem& p, const LaunchContext&) {
  return [shape = roi_shape(p), dtype = p.outputs[0].dtype,
          wide = p.inputs[2].dtype == DType::i64](const LaunchArgs& a) {
    cuda::roi_align(dtype, shape, wide, a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0],
                    cuda::stream_of(a));
  };
}

}  // namespace headroom
