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

// Threads compute 4 maps, those past the end in vain. Of weights, each lane sums 8 taps, which warps add up.
double executed_of(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const double products = products_inside(s), outputs = double(p.outputs[0].shape.numel());
  if (!is_weight_gradient(p))
    return 2 * products * (s.maps == 1 ? 1 : double((s.maps + 3) / 4 * 4) / s.maps) + outputs;
  const double blocks = double(s.groups) * s.maps * s.channels * ((s.taps() + 7) / 8);
  return 2 * products + weight_pieces(s, target) * (blocks * 8 * 256 * 5 + 8 * outputs);
}

// What blocks of 256 neighbouring pixels read, and keep in the first cache: the rows that their windows see,
// in all channels, and their weights; of weights' gradients a map of dy and a channel of the image.
double l2_bytes_of(const Problem& p, const Target& target) {
  constexpr int kPixels = 256;
  const Sweep s = sweep_of(p);
  const double element = double(size_of(p.inputs[0].dtype)), outputs = double(p.outputs[0].bytes());
  const int plane = s.out_plane();
  if (is_weight_gradient(p)) {
    const double blocks = double(s.groups) * s.maps * s.channels * ((s.taps() + 7) / 8);
    return blocks * s.batch * (plane + s.in_plane()) * element + double(workspace(p, target));
  }
  const int maps = s.maps == 1 ? 1 : 4, map_blocks = (s.maps + maps - 1) / maps;
  const double blocks = double((s.pixels() + kPixels - 1) / kPixels) * s.groups * map_blocks;
  return element * (elements_seen(s, kPixels) * s.batch * s.groups * map_blocks * s.channels +
                    blocks * std::min(maps, s.maps) * s.depth()) +
         outputs;
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with("gpu.conv.direct", ordinary_unit(p.outputs[0].dtype), extent_of(p));
  work.main().l2_bytes = std::max(work.bytes(), l2_bytes_of(p, target));
  work.main().executed = executed_of(p, target);
  return with_pieces(p, std::move(work), workspace(p, target));
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
