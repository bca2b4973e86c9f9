#include "ops/top_k/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/top_k/top_k.h"

namespace headroom {

Launcher prepare_top_k_cuda(const Problem& p, const LaunchContext&) {
  const TopKSizes s = top_k_sizes(p);
  return [dtype = p.inputs[0].dtype,
          shape = cuda::TopKShape{s.outer, s.extent, s.inner, s.k, s.largest}](const LaunchArgs& a) {
    cuda::top_k(dtype, shape, a.inputs[0], a.outputs[0], a.out<std::int64_t>(1), cuda::stream_of(a));
  };
}

}  // namespace headroom
