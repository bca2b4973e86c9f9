#include "ops/grid_sample/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/grid_sample/grid_sample.h"

namespace headroom {

Launcher prepare_grid_sample_cuda(const Problem& p, const LaunchContext&) {
  return [shape = grid_shape(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::grid_sample(dtype, shape, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
