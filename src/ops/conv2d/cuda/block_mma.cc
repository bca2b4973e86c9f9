// Images, or bands of their rows, in shared memory as words of fp16: convolution, bias, activation and
// pooling in one launch; or the gradient of a convolution's input.
#include "ops/conv2d/cuda/block_plan.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// block_mma.cu: y = pool(f(x * w + bias)).
void conv2d_block_mma(DType dtype, const BlockShape& s, const BlockPlan& q, const void* x, const void* w,
                      const void* bias, void* y, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::BlockPlan;
using cuda::BlockShape;

bool is_gradient(const Problem& p) { return p.op == "conv2d_grad_input"; }

BlockShape shape_of(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  return is_gradient(p) ? block_gradient_shape(c) : block_shape(c);
}

const char* refusal_of_gradient(const Conv2d& c) {
  if (c.window.stride != Extent2d{1, 1}) return "takes gradients of strides of 1";
  const BlockShape s = block_gradient_shape(c);
  return s.pad_h < 0 || s.pad_w < 0 ? "the input has more padding than a window reaches" : nullptr;
}

const char* refusal(const Conv2d& c) {
  if (c.groups > 1) return "grouped";
  if (c.norm || c.residual || c.cuts()) return "neither normalises, nor adds a residual, nor clips";
  if (!c.pools()) return nullptr;
  if (c.pool.window.pad != Extent2d{0, 0} || c.pool.window.pad_end != Extent2d{0, 0})
    return "takes no padding around what it pools";
  if (c.pool.window.dilation != Extent2d{1, 1}) return "takes no dilated windows of pooling";
  return nullptr;
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("images are held in fp16, two parts of each element");
  if (target.device.compute_capability < 80) return refuse("its products need compute capability 8.0");
  const Conv2d c = parse_conv2d(p);
  if (const char* no = refusal(c)) return refuse(no);
  if (const char* no = is_gradient(p) ? refusal_of_gradient(c) : nullptr) return refuse(no);
  std::string why;
  return block_plan(shape_of(p), is_exact_fp32(p, target), target, why) ? accept() : refuse(why);
}

// A block arranges its weights once, which takes as long as half a dozen tiles of a small network. Gradients
// of inputs took 480 us on an H200 where images in fragments of tf32 take 42 (16 maps of 10 x 10, 256
// images).
Verdict pays(const Problem& p, const Target& target) {
  constexpr int kTilesOfBlock = 10;
  if (is_gradient(p)) return refuse("images in fragments of tf32 are faster for gradients");
  std::string why;
  const auto q = block_plan(shape_of(p), is_exact_fp32(p, target), target, why);
  if (!q || q->tiles < kTilesOfBlock * q->workers)
    return refuse("too few images: arranging the weights takes longer than it gains");
  return accept();
}

// The share of the products that are wanted: the rest pads maps, terms and the places of a fragment.
double useful_share(const BlockShape& s, const BlockPlan& q) {
  const double columns = double(s.maps) / double(q.block_maps * q.map_blocks);
  const double terms = double(s.depth()) / double(16 * q.steps);
  const double fragment = cuda::places_of_fragment(q), places = double(q.place_rows) * q.place_w;
  return columns * terms * places / (fragment * double(int((places + fragment - 1) / fragment)));
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with(by_arithmetic(p, target, "gpu.conv.block.fp32", "gpu.conv.block.rounded", "gpu.conv.block.fp32",
                          "gpu.conv.block.rounded"),
            Unit::fp16, extent_of(p));
  std::string why;
  const BlockShape s = shape_of(p);
  const auto q = block_plan(s, is_exact_fp32(p, target), target, why);
  if (!q) return work;
  work.main().tile = {std::int64_t{q->conv_rows} * s.conv_w, q->block_maps, s.depth()};
  work.main().blocks = std::int64_t{q->workers} * q->map_blocks;
  work.main().useful = useful_share(s, *q);
  // Every block reads its weights twice, and the rows of its tiles twice: once for their largest value.
  const double element = double(size_of(p.outputs[0].dtype));
  const double rows = double(q->tiles) * std::min(q->view_h, s.in_h) * s.in_w * s.channels * q->map_blocks;
  const double weights = double(work.main().blocks) * q->block_maps * s.depth();
  work.main().l2_bytes = element * (2 * rows + 2 * weights + double(p.outputs[0].shape.numel()));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const Conv2d c = parse_conv2d(p);
  const BlockShape s = shape_of(p);
  std::string why;
  const BlockPlan plan = block_plan(s, is_exact_fp32(p, context.target), context.target, why).value();
  return [dtype = p.outputs[0].dtype, s, plan, bias = c.bias](const LaunchArgs& a) {
    if (plan.tiles == 0) return;
    cuda::conv2d_block_mma(dtype, s, plan, a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr,
                           a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_block_mma() {
  return {.name = "cuda:block_mma",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .pays = pays,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
