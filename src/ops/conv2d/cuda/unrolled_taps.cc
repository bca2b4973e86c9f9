// One thread for each pixel and a few maps, with the loops over the window unrolled: its size is known to the
// compiler, and pointers are __restrict__. Filters in constant memory or not; images in fp16 or not.
#include <algorithm>

#include "base/error.h"
#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// unrolled_taps.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes; fp32 or fp16.
void conv2d_unrolled_taps(DType dtype, bool constant, int block, int coarsen, const Sweep& s, const void* x,
                          const void* w, const void* bias, void* y, cudaStream_t stream);
// Threads of a block for which a multiprocessor has registers.
int conv2d_unrolled_taps_threads(DType dtype, bool constant, int coarsen, int window);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

struct Idea {
  std::string_view name;
  bool constant;
  DType dtype;
};

Verdict accepts(const Idea& idea, const Problem& p) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s, idea.dtype); !v.ok) return v;
  if (is_weight_gradient(p)) return refuse("an idea for filters: there are none to read");
  if (s.kernel_h != s.kernel_w || s.kernel_h % 2 == 0 || s.kernel_h > 11)
    return refuse("compiled for windows of 1, 3, 5, 7, 9 and 11 alone");
  if (idea.constant && std::int64_t(size_of(idea.dtype)) * s.groups * s.weight_group > 65536)
    return refuse("filters exceed the 64 KB of constant memory");
  if (plane_tiles(s, 8) > 65535) return refuse("more tiles than a grid has in its third dimension");
  return accept();
}

Work work(const Idea& idea, const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const std::int64_t blocks = std::int64_t{s.batch} * s.groups * s.maps * plane_tiles(s, 16);
  const double scale = double(size_of(idea.dtype)) / 4;
  return rung_work(p, target, "gpu.conv.unrolled_taps", blocks,
                   double(blocks) * scale * seen_bytes(s, 16, 16), {256, 1, 0});
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Idea& idea, const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  const RungShape shape = parse_rung_shape(idea.name, context.variant, s, {1, 2, 4});
  if (const int most =
          cuda::conv2d_unrolled_taps_threads(idea.dtype, idea.constant, shape.coarsen, s.kernel_h);
      shape.block * shape.block > most)
    reject(Hint{"smaller blocks, or fewer maps a thread"},
           "kernel '{}' refuses blocks of {} x {}: a multiprocessor has registers for {} of its threads",
           idea.name, shape.block, shape.block, most);
  return [idea, s, shape, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_unrolled_taps(idea.dtype, idea.constant, shape.block, shape.coarsen, s, a.inputs[0],
                               a.inputs[1], bias ? a.inputs[2] : nullptr, a.outputs[0], cuda::stream_of(a));
  };
}
#endif

Kernel kernel_of(const Idea& idea) {
  Kernel kernel = kernel_of_idea(idea, accepts, work, HEADROOM_CUDA(prepare));
  kernel.candidates = [](const Problem&, const Target&) { return rung_shapes({16, 8, 28, 32}, {1, 2, 4}); };
  return kernel;
}

}  // namespace

Kernel conv2d_cuda_unrolled() { return kernel_of({"cuda:unrolled", false, DType::f32}); }
Kernel conv2d_cuda_constant_unrolled() { return kernel_of({"cuda:constant_unrolled", true, DType::f32}); }
Kernel conv2d_cuda_half_storage() { return kernel_of({"cuda:half_storage", true, DType::f16}); }

}  // namespace headroom
