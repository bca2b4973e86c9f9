// One thread for each output. Takes every shape and type; meant for depthwise layers and for what the
// products on the tensor cores refuse.
#include <algorithm>

#include "ops/conv2d/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// direct.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_direct(DType dtype, const Sweep& s, const void* x, const void* w, const void* bias, void* y,
                   cudaStream_t stream);
// direct_weight.cu: dw, for the sweep of the forward product, in two launches.
void conv2d_direct_weight(DType dtype, const Sweep& s, int pieces, const void* x, const void* dy, void* dw,
                          void* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

// Into how many pieces the sum over pixels is cut, so that there are blocks for every multiprocessor.
int weight_pieces(const Sweep& s, const Target& target) {
  const std::int64_t blocks = std::int64_t{s.groups} * s.maps * s.channels * ((s.taps() + 7) / 8);
  const std::int64_t wanted = (8 * processors(target) + blocks - 1) / blocks;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, s.pixels() / 1024), 1, 256));
}

std::size_t workspace(const Problem& p, const Target& target) {
  return is_weight_gradient(p) ? bytes_of_pieces(p, weight_pieces(sweep_of(p), target)) : 0;
}

// Neighbours share what they read through L2 alone.
Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with("gpu.conv.direct", ordinary_unit(p.outputs[0].dtype), extent_of(p));
  const double elements = work.flops() / 2;  // each product reads an element of the image
  work.main().l2_bytes = elements * double(size_of(p.inputs[0].dtype));
  return with_pieces(std::move(work), workspace(p, target));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const cuda::Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  if (p.op == "conv2d_grad_weight")
    return [dtype, s, pieces = weight_pieces(s, context.target)](const LaunchArgs& a) {
      cuda::conv2d_direct_weight(dtype, s, pieces, a.inputs[0], a.inputs[1], a.outputs[0], a.workspace,
                                 cuda::stream_of(a));
    };
  return [dtype, s, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_direct(dtype, s, a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr, a.outputs[0],
                        cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_direct() {
  return {.name = "cuda:direct",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
