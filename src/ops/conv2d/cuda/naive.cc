// One thread for each output, as everybody writes it first; then filters in constant memory, the sum in a
// register, and both. The gradient of the weights: one thread for each weight.
#include <algorithm>

#include "base/error.h"
#include "ops/conv2d/cuda/rungs.h"
#include "ops/sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// naive.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_naive(bool constant, bool registers, int block, const Sweep& s, const float* x, const float* w,
                  const float* bias, float* y, cudaStream_t stream);
void conv2d_naive_weight(const Sweep& s, int pieces, const float* x, const float* dy, float* dw,
                         float* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

struct Idea {
  std::string_view name;
  bool constant, registers;
};

// Pieces of the images, so that there are blocks for every multiprocessor however few weights there are.
int weight_pieces(const Sweep& s, const Target& target) {
  const std::int64_t blocks = ceil_div(std::int64_t{s.groups} * s.maps * s.depth(), 256);
  return static_cast<int>(
      std::clamp<std::int64_t>(ceil_div(16 * processors(target), blocks), 1, std::min(s.batch, 512)));
}

Verdict accepts(const Idea& idea, const Problem& p) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p))
    return idea.constant || idea.registers ? refuse("an idea for filters: there are none to read") : accept();
  if (idea.constant && 4 * s.groups * s.weight_group > 65536)
    return refuse("filters exceed the 64 KB of constant memory");
  if (plane_tiles(s, 8) > 65535) return refuse("more tiles than a grid has in its third dimension");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  return is_weight_gradient(p) ? bytes_of_pieces(p, weight_pieces(sweep_of(p), target)) : 0;
}

// What blocks of 256 weights read of all images: the gradients of their maps, and the channels of their taps.
double weight_bytes(const Sweep& s) {
  constexpr std::int64_t kWeights = 256;
  const std::int64_t weights = std::int64_t{s.groups} * s.maps * s.depth();
  double planes = 0;  // of dy, and of the image
  for (std::int64_t first = 0; first < weights; first += kWeights) {
    const std::int64_t last = std::min(weights, first + kWeights) - 1;
    planes += double(last / s.depth() - first / s.depth() + 1) * s.out_plane();
    planes +=
        double(std::min<std::int64_t>(s.channels, last / s.taps() - first / s.taps() + 1)) * s.in_plane();
  }
  return 4.0 * s.batch * planes;
}

// The L1 cache keeps what a block sees of the image. Sums in memory are written through to L2 at every
// product, 16 neighbours of a row at a time, which do not begin with sectors.
Work work(const Idea& idea, const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (is_weight_gradient(p)) {
    const int pieces = weight_pieces(s, target);
    const std::int64_t blocks = ceil_div(std::int64_t{s.groups} * s.maps * s.depth(), 256) * pieces;
    return with_pieces(p, rung_work(p, target, "gpu.conv.naive", blocks, weight_bytes(s), {1, 256, 0}),
                       workspace(p, target));
  }
  const std::int64_t blocks = std::int64_t{s.batch} * s.groups * s.maps * plane_tiles(s, 16);
  const double written = chunked_bytes(s.out_w, 16, 4, 4LL * s.out_w) / s.out_w;  // for each product
  const double l2 =
      double(blocks) * seen_bytes(s, 16, 16) + (idea.registers ? 0 : written * products_inside(s));
  return rung_work(p, target, "gpu.conv.naive", blocks, l2, {256, 1, 0});
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Idea& idea, const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  if (is_weight_gradient(p))
    return [s, pieces = weight_pieces(s, context.target)](const LaunchArgs& a) {
      cuda::conv2d_naive_weight(s, pieces, a.in<float>(0), a.in<float>(1), a.out<float>(0),
                                static_cast<float*>(a.workspace), cuda::stream_of(a));
    };
  const RungShape shape = parse_rung_shape(idea.name, context.variant, s, {1});
  return [idea, s, shape, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_naive(idea.constant, idea.registers, shape.block, s, a.in<float>(0), a.in<float>(1),
                       bias ? a.in<float>(2) : nullptr, a.out<float>(0), cuda::stream_of(a));
  };
}
#endif

Kernel kernel_of(const Idea& idea) {
  Kernel kernel = kernel_of_idea(idea, accepts, work, HEADROOM_CUDA(prepare));
  kernel.workspace = workspace;
  kernel.candidates = [](const Problem& p, const Target&) {
    return is_weight_gradient(p) ? std::vector<std::string>{"block=16"} : rung_shapes({16, 8, 32}, {1});
  };
  return kernel;
}

}  // namespace

Kernel conv2d_cuda_naive() { return kernel_of({"cuda:naive", false, false}); }
Kernel conv2d_cuda_constant() { return kernel_of({"cuda:constant", true, false}); }
Kernel conv2d_cuda_registers() { return kernel_of({"cuda:registers", false, true}); }
Kernel conv2d_cuda_constant_registers() { return kernel_of({"cuda:constant_registers", true, true}); }

}  // namespace headroom
