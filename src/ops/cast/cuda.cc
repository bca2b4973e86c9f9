#include "ops/cast/cuda.h"

#include "ops/cast/cast.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_cast_cuda(const Problem& p, const Capabilities&) {
  return [from = p.inputs[0].dtype, to = p.outputs[0].dtype, n = p.inputs[0].shape.numel(),
          scale = p.attrs.real("scale", 1)](const LaunchArgs& a) {
    cuda::cast(from, to, n, scale, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
