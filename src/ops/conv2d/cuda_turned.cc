// NHWC by our own kernels, which read NCHW: tensors are turned over on their way in and out. For what a
// library may not know: groups and dilated windows.
#include <utility>

#include "ops/conv2d/plans.h"
#include "ops/cuda/launch.h"
#include "ops/relayout/cuda.h"

namespace headroom {
namespace {

cuda::Relayout turn(const TensorType& type, bool to_nchw) {
  const Shape& s = type.shape;
  const std::int64_t plane = s[2] * s[3];
  return to_nchw ? cuda::Relayout{s[0], plane, s[1]} : cuda::Relayout{s[0], s[1], plane};
}

}  // namespace

Launcher prepare_conv2d_cuda_turned(const Problem& p, const Capabilities& capabilities) {
  const Problem plain = conv2d_in_nchw(p);
  const Launcher run = accepts_conv2d_implicit(plain, capabilities).ok
                           ? prepare_conv2d_cuda_implicit(plain, capabilities)
                           : prepare_conv2d_cuda_direct(plain, capabilities);
  return [run, first = p.inputs[0], second = p.inputs[1], out = p.outputs[0],
          bias = p.inputs.size() > 2](const LaunchArgs& a) {
    auto* at = static_cast<std::byte*>(a.workspace);
    const auto take = [&](const TensorType& type) {
      return std::exchange(at, at + align_up(static_cast<std::size_t>(type.bytes())));
    };
    void *x = take(first), *w = take(second), *y = take(out);
    const cudaStream_t stream = cuda::stream_of(a);
    cuda::relayout(first.dtype, first.dtype, turn(first, true), a.inputs[0], x, stream);
    cuda::relayout(second.dtype, second.dtype, turn(second, true), a.inputs[1], w, stream);
    const void* const inputs[] = {x, w, bias ? a.inputs[2] : nullptr};
    void* const outputs[] = {y};
    run({inputs, outputs, at, a.stream});
    cuda::relayout(out.dtype, out.dtype, turn(out, false), y, a.outputs[0], stream);
  };
}

}  // namespace headroom
