// Runs of neighbouring pixels in ordinary fp32 arithmetic, for images of which a block holds one.
#include "ops/conv2d/cuda/pixel_runs_plan.h"
#include "ops/conv2d/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// pixel_runs_3.cu, _5.cu and _7.cu, by the width of the windows: y = f(x * w + bias), or dx from dy,
// whichever the sweep describes.
using PixelRuns = void(const Sweep& s, const RunsPlan& q, const float* x, const float* w, const float* bias,
                       float* y, cudaStream_t stream);
PixelRuns conv2d_pixel_runs_3, conv2d_pixel_runs_5, conv2d_pixel_runs_7;
// pixel_runs_weight.cu: dw, for the sweep of the forward product, in two launches.
void conv2d_pixel_runs_weight(const Sweep& s, const RunsPlan& q, const float* x, const float* dy, float* dw,
                              float* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::RunKind;
using cuda::RunsPlan;
using cuda::Sweep;

std::optional<RunsPlan> plan_of(const Problem& p, const Target& target, std::string& why) {
  const Sweep s = sweep_of(p);
  const RunsDevice device{processors(target), shared_bytes(target)};
  return is_weight_gradient(p) ? runs_weight_plan(s, device, why) : runs_plan(s, device, why);
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  if (p.outputs[0].dtype != DType::f32) return refuse("for fp32 only");
  if (target.device.compute_capability < 80) return refuse("its copies need compute capability 8.0");
  std::string why;
  return plan_of(p, target, why) ? accept() : refuse(why);
}

// Measured on an H200, see docs/conv2d.md: gradients of all shapes that it takes were faster, forward passes
// but those with long sums for many pixels.
Verdict pays(const Problem& p, const Target&) {
  constexpr double kMany = 1e8;
  constexpr int kLong = 64;
  const Sweep s = sweep_of(p);
  if (s.groups > 1) return refuse("each group would read its image anew");
  if (p.op == "conv2d" && s.depth() >= kLong && double(s.pixels()) * s.maps * s.depth() > kMany)
    return refuse("long sums for many pixels: tensor cores are faster");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  if (!is_weight_gradient(p)) return 0;
  std::string why;
  const auto plan = plan_of(p, target, why);
  return bytes_of_pieces(p, plan ? plan->workers : 1);
}

// Of all lanes: those beyond the last run repeat it.
double executed_of(const Sweep& s, const RunsPlan& q) {
  const int columns = q.kind == RunKind::whole_gradient ? q.run - s.kernel_w + 1 : q.run;
  const double images = double(s.batch) * s.groups;
  return images * (2.0 * 32 * q.item_warps * q.lines * columns * q.maps * s.kernel_w +
                   double(q.shares) * s.maps * s.out_plane());
}
// Threads slide along whole quads of columns; sums are added up over images, and over shares of the rows.
double executed_of_weights(const Sweep& s, const RunsPlan& q) {
  const double sums = double(q.maps) * s.kernel_w, images = double(s.batch) * s.groups;
  return images * sums * (2.0 * q.items * s.out_h * q.quads * 4 + q.threads) +
         double(q.workers) * s.groups * (q.shares - 1) * s.maps * s.depth();
}

double useful_share(const Sweep& s, const RunsPlan& q, bool gradient_of_weights) {
  const double maps = double(s.maps) / double(q.map_groups * q.maps);
  if (gradient_of_weights) return maps * double(s.out_w) / double(4 * q.quads);
  return maps * double(s.out_w) / double(q.runs * q.run) * double(q.items) / double(32 * q.item_warps);
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with("gpu.conv.runs", Unit::fp32, extent_of(p));
  std::string why;
  if (const auto plan = plan_of(p, target, why)) {
    const Sweep s = sweep_of(p);
    const bool weights = is_weight_gradient(p);
    KernelLaunch& main = work.main();
    main.tile = {s.out_plane(), s.maps, s.depth()};
    main.blocks = std::int64_t{plan->workers} * s.groups;
    main.useful = useful_share(s, *plan, weights);
    main.executed = weights ? executed_of_weights(s, *plan) : executed_of(s, *plan);
    // Every block reads the weights of its group.
    const double filters = 4.0 * double(s.maps) * s.depth() * s.groups;
    main.l2_bytes = work.bytes() + (weights ? 0 : (plan->workers - 1) * filters);
  }
  return with_pieces(p, std::move(work), workspace(p, target));
}

#ifdef HEADROOM_HAS_CUDA
const float* floats(const void* p) { return static_cast<const float*>(p); }

Launcher prepare(const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  std::string why;
  const RunsPlan plan = plan_of(p, context.target, why).value();
  if (is_weight_gradient(p))
    return [s, plan](const LaunchArgs& a) {
      cuda::conv2d_pixel_runs_weight(s, plan, floats(a.inputs[0]), floats(a.inputs[1]),
                                     static_cast<float*>(a.outputs[0]), static_cast<float*>(a.workspace),
                                     cuda::stream_of(a));
    };
  cuda::PixelRuns* const launch = s.kernel_w == 3   ? cuda::conv2d_pixel_runs_3
                                  : s.kernel_w == 5 ? cuda::conv2d_pixel_runs_5
                                                    : cuda::conv2d_pixel_runs_7;
  return [s, plan, launch, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    launch(s, plan, floats(a.inputs[0]), floats(a.inputs[1]), bias ? floats(a.inputs[2]) : nullptr,
           static_cast<float*>(a.outputs[0]), cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_pixel_runs() {
  return {.name = "cuda:pixel_runs",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .pays = pays,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
