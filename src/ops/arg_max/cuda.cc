#include "ops/arg_max/cuda.h"

#include "ops/arg_max/arg_max.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_arg_max_cuda(const Problem& p, const LaunchContext&) {
  const ArgSizes s = arg_sizes(p);
  return [dtype = p.inputs[0].dtype,
          shape = cuda::ArgShape{s.outer, s.extent, s.inner, s.least, s.last}](const LaunchArgs& a) {
    cuda::arg_max(dtype, shape, a.inputs[0], a.out<std::int64_t>(0), cuda::stream_of(a));
  };
}

}  // namespace headroom
