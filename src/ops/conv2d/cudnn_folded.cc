// The library's convolution between copies with more channels: see FoldedConv2d.
#ifdef HEADROOM_HAS_CUDNN

#include <utility>

#include "ops/conv2d/cuda.h"
#include "ops/conv2d/plans.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_conv2d_cuda_folded(const FoldedConv2d& folded, const Capabilities& capabilities) {
  const Problem& p = folded.problem;
  return [run = prepare_conv2d_cudnn(p, capabilities), image = folded.image, filters = folded.filters,
          x = p.inputs[0], w = folded.filter_type(), weight = folded.is_weight_gradient(),
          bias = p.inputs.size() > 2](const LaunchArgs& a) {
    auto* at = static_cast<std::byte*>(a.workspace);
    const auto take = [&](const TensorType& type) {
      return std::exchange(at, at + align_up(static_cast<std::size_t>(type.bytes())));
    };
    void *wide_x = take(x), *wide_w = take(w);
    const cudaStream_t stream = cuda::stream_of(a);
    cuda::conv2d_fold(x.dtype, image, a.inputs[0], wide_x, stream);
    if (!weight) cuda::conv2d_fold(w.dtype, filters, a.inputs[1], wide_w, stream);
    // Forward: image, filters, bias; of the filters' gradient: image and dy.
    const void* const inputs[] = {wide_x, weight ? a.inputs[1] : wide_w, bias ? a.inputs[2] : nullptr};
    void* const outputs[] = {weight ? wide_w : a.outputs[0]};
    run({inputs, outputs, at, a.stream});
    if (weight) cuda::conv2d_unfold(w.dtype, filters, wide_w, a.outputs[0], stream);
  };
}

}  // namespace headroom

#endif
