// Images, or bands of their rows, in shared memory: the tensor cores multiply what the windows see there.
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

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with(by_arithmetic(p, target, "gpu.conv.image.fp32", "gpu.conv.image.tf32", "gpu.conv.image.fp32",
                          "gpu.conv.image.tf32"),
            Unit::tf32, extent_of(p));
  const Sweep s = sweep_of(p);
  if (const auto plan = plan_of(p, target)) {
    work.main().tile = {std::int64_t{plan->images} * plan->rows * s.out_w, 8 * plan->maps8, s.depth()};
    work.main().blocks = std::int64_t{plan->workers} * plan->map_blocks * s.groups;
    work.main().useful = double(s.maps) / double(8 * plan->maps8 * plan->map_blocks);
  }
  return with_pieces(std::move(work), workspace(p, target));
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
