// Images, or bands of their rows, in shared memory: the tensor cores multiply what the windows see there.
#include <algorithm>
#include <cmath>

#include "ops/conv2d/cuda/image_plan.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// image_mma.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_image_mma(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x,
                      const void* w, const void* bias, void* y, cudaStream_t stream);
// image_mma_weight.cu: dw, for the sweep of the forward product, in two launches.
void conv2d_image_mma_weight(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x,
                             const void* dy, void* dw, void* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::ImagePlan;
using cuda::Sweep;

std::optional<ImagePlan> plan_of(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  return is_weight_gradient(p) ? image_weight_plan(s, target)
                               : image_plan(s, is_exact_fp32(p, target), target);
}

Verdict accepts(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (Verdict v = fits_tensor_cores(p, s, target); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("images are held in fp32");
  if (s.maps > 64) return refuse("more than 64 maps in a group: larger tiles are faster");
  if (s.out_plane() < 32) return refuse("fewer than 32 outputs per image and map");
  if (!plan_of(p, target)) return refuse("a band of the image does not fit into shared memory");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  if (!is_weight_gradient(p)) return 0;
  const auto plan = plan_of(p, target);
  return bytes_of_pieces(p, plan ? plan->workers : 1);
}

// The share of the products that are wanted: the rest pads maps, terms and pixels of fragments.
double useful_share(const Sweep& s, const ImagePlan& q, bool weight_gradient) {
  const double maps = double(s.maps) / double(8 * q.maps8 * q.map_blocks), tiles = q.tiles;
  const double pixels = double(q.images) * q.rows * s.out_w;
  if (weight_gradient)
    return maps * double(s.depth()) / double(32 * q.row_groups * q.row_blocks) * double(s.pixels()) /
           (tiles * 8 * q.steps);
  const double fragment = 16 * q.rows16;
  return maps * double(s.depth()) / double(8 * q.steps) * double(s.pixels()) /
         (tiles * fragment * std::ceil(pixels / fragment));
}

constexpr int round_up(int a, int to) { return (a + to - 1) / to * to; }

// Pixels that the tiles compute where each takes whole units of them.
double whole_pixels(const Sweep& s, const ImagePlan& q, int unit) {
  double sum = 0;
  for (int index = 0; index < q.tiles; ++index) {
    const int images = std::min(q.images, s.batch - index / q.bands * q.images),
              rows = std::min(q.rows, s.out_h - index % q.bands * q.rows);
    sum += round_up(images * rows * s.out_w, unit);
  }
  return sum;
}

// Exact: three products of parts, which each warp splits for itself, and sums that begin anew several times
// in each group.
double executed_of(const Sweep& s, const ImagePlan& q, bool exact, bool bias) {
  const int unit = 16 * q.rows16, terms = 8 * q.steps, maps = 8 * q.maps8;
  const double pixels = whole_pixels(s, q, unit) * q.map_blocks * s.groups;
  const double groups = double(q.steps) / cuda::kImageGroup, sets = q.rows16 == 1 ? 3 : 2;
  const double additions = exact ? terms * (1 + double(maps) / unit) + sets * groups * maps : 0;
  return pixels * (2.0 * (exact ? 3 : 1) * maps * terms + additions + (bias ? maps : 0));
}

// Sums begin anew every 16 pixels; slices of a block are added up at the end.
double executed_of_weights(const Sweep& s, const ImagePlan& q, bool exact) {
  const double rows = 32.0 * q.row_groups * q.row_blocks * s.groups * q.map_blocks, maps = 8.0 * q.maps8;
  const double additions = exact ? rows + rows / 32 * maps : 0;
  return whole_pixels(s, q, 16) * (2 * (exact ? 3 : 1) * rows * maps + additions + rows * maps / 16) +
         double(q.workers) * (q.slices - 1) * rows * maps;
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with(by_arithmetic(p, target, "gpu.conv.image.fp32", "gpu.conv.image.tf32", "gpu.conv.image.fp32",
                          "gpu.conv.image.tf32"),
            Unit::tf32, extent_of(p));
  const Sweep s = sweep_of(p);
  if (const auto q = plan_of(p, target)) {
    const bool gradient = is_weight_gradient(p);
    KernelLaunch& main = work.main();
    main.tile = {std::int64_t{q->images} * q->rows * s.out_w, 8 * q->maps8, s.depth()};
    main.blocks = std::int64_t{q->workers} * q->map_blocks * s.groups * (gradient ? q->row_blocks : 1);
    main.useful = useful_share(s, *q, gradient);
    main.executed = gradient ? executed_of_weights(s, *q, is_exact_fp32(p, target))
                             : executed_of(s, *q, is_exact_fp32(p, target), p.inputs.size() > 2);
  }
  return with_pieces(p, std::move(work), workspace(p, target));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  const bool tf32 = context.target.policy.tf32;
  const ImagePlan plan = plan_of(p, context.target).value();
  if (is_weight_gradient(p))
    return [dtype, tf32, s, plan](const LaunchArgs& a) {
      cuda::conv2d_image_mma_weight(dtype, tf32, s, plan, a.inputs[0], a.inputs[1], a.outputs[0], a.workspace,
                                    cuda::stream_of(a));
    };
  return [dtype, tf32, s, plan, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_image_mma(dtype, tf32, s, plan, a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr,
                           a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_image_mma() {
  return {.name = "cuda:image_mma",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
