#include "ops/cumsum/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/cumsum/cumsum.h"

namespace headroom {

Launcher prepare_cumsum_cuda(const Problem& p, const LaunchContext&) {
  const CumsumSizes s = cumsum_sizes(p);
  return [dtype = p.outputs[0].dtype, shape = cuda::CumsumShape{s.outer, s.extent, s.inner, s.exclusive,
                                                                s.reverse}](const LaunchArgs& a) {
    cuda::cumsum(dtype, shape, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
