// The library's convolution between copies with more channels: see may_be_padded.
#ifdef HEADROOM_HAS_CUDNN

#include <utility>

#include "ops/conv2d/cuda.h"
#include "ops/conv2d/plans.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace {

// A tensor in NHWC as rows of its channels.
std::int64_t rows_of(const TensorType& type) { return type.shape.numel() / type.shape[1]; }

void resize(const TensorType& from, const TensorType& to, const void* x, void* y, cudaStream_t stream) {
  cuda::conv2d_resize_rows(from.dtype, rows_of(from), static_cast<int>(from.shape[1]),
                           static_cast<int>(to.shape[1]), x, y, stream);
}

}  // namespace

Launcher prepare_conv2d_cuda_padded(const Problem& p, const Capabilities& capabilities) {
  const Problem wide = conv2d_padded(p);
  const bool weight = p.op == "conv2d_grad_weight";
  const bool bias = p.inputs.size() > 2;
  return [run = prepare_conv2d_cudnn(wide, capabilities), weight, bias, x = p.inputs[0],
          wide_x = wide.inputs[0], w = weight ? p.outputs[0] : p.inputs[1],
          wide_w = weight ? wide.outputs[0] : wide.inputs[1]](const LaunchArgs& a) {
    auto* at = static_cast<std::byte*>(a.workspace);
    const auto take = [&](const TensorType& type) {
      return std::exchange(at, at + align_up(static_cast<std::size_t>(type.bytes())));
    };
    void *image = take(wide_x), *filters = take(wide_w);
    const cudaStream_t stream = cuda::stream_of(a);
    resize(x, wide_x, a.inputs[0], image, stream);
    if (!weight) resize(w, wide_w, a.inputs[1], filters, stream);
    // Forward: image, filters, bias; of the filters' gradient: image and dy.
    const void* const inputs[] = {image, weight ? a.inputs[1] : filters, bias ? a.inputs[2] : nullptr};
    void* const outputs[] = {weight ? filters : a.outputs[0]};
    run({inputs, outputs, at, a.stream});
    if (weight) resize(wide_w, w, filters, a.outputs[0], stream);
  };
}

}  // namespace headroom

#endif
