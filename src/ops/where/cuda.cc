#include "ops/where/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/where/where.h"

namespace headroom {

Launcher prepare_where_cuda(const Problem& p, const LaunchContext&) {
  return [bytes = static_cast<int>(size_of(p.outputs[0].dtype)),
          loop = cuda::loop_of(p.outputs[0].shape, {p.inputs[0].shape, p.inputs[1].shape,
                                                    p.inputs[2].shape})](const LaunchArgs& a) {
    cuda::where(bytes, loop, a.in<std::uint8_t>(0), a.inputs[1], a.inputs[2], a.outputs[0],
                cuda::stream_of(a));
  };
}

Launcher prepare_where_grad_cuda(const Problem& p, const LaunchContext&) {
  const Shape dy = p.outputs[0].shape;
  return [bytes = static_cast<int>(size_of(p.outputs[0].dtype)), first = p.attrs.text("side", "a") == "a",
          loop = cuda::loop_of(dy, {p.inputs[0].shape, dy, dy})](const LaunchArgs& a) {
    cuda::where(bytes, loop, a.in<std::uint8_t>(0), first ? a.inputs[1] : nullptr,
                first ? nullptr : a.inputs[1], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
