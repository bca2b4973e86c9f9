// Expansions: neighbours of the innermost axis in accesses of 16 bytes where the shape allows.
#ifdef HEADROOM_HAS_CUDA
#include "ops/reduce/cuda/stretch.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/reduce/reduce.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace {

Launcher prepare(const Problem& p, const LaunchContext&) {
  if (!is_float(p.outputs[0].dtype))
    return [loop = cuda::loop_of(p.outputs[0].shape, {p.inputs[0].shape}),
            bytes = static_cast<int>(size_of(p.outputs[0].dtype))](const LaunchArgs& a) {
      cuda::stretch_bytes(bytes, loop, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  return [loop = cuda::loop_of(p.outputs[0].shape, {p.inputs[0].shape}), dtype = p.outputs[0].dtype,
          scale = p.attrs.real("scale", 1)](const LaunchArgs& a) {
    cuda::expand(dtype, loop, scale, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace
#endif

Kernel expand_cuda_stretch() {
  return {.name = "cuda:stretch",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
