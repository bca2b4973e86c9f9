// One thread for each few elements, between any two types.
#ifdef HEADROOM_HAS_CUDA
#include "ops/cast/cuda/map.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/cast/cast.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace {

cuda::Through through_of(const Problem& p) {
  const std::string name = p.attrs.text("through");
  return name == "fp16" ? cuda::Through::fp16 : name == "bf16" ? cuda::Through::bf16 : cuda::Through::nothing;
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return [from = p.inputs[0].dtype, to = p.outputs[0].dtype, n = p.inputs[0].shape.numel(),
          scale = p.attrs.real("scale", 1), through = through_of(p)](const LaunchArgs& a) {
    cuda::cast(from, to, n, scale, through, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace
#endif

Kernel cast_cuda_map() {
  return {.name = "cuda:map",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .prepare = HEADROOM_CUDA(prepare),
          .layouts = Layouts::elementwise};
}

}  // namespace headroom
