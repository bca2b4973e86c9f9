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

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_block(p, target); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (const char* no = is_gradient(p) ? refusal_of_gradient(c) : nullptr) return refuse(no);
  std::string why;
  return block_plan(shape_of(p), is_exact_fp32(p, target), target, why) ? accept() : refuse(why);
}

// A block arranges its weights once, which takes as long as some tiles of a small network. Of ece408, conv2
// paid from 16 images on: a forward pass took 65.6 us on an H200, 73.5 with images in fragments of tf32; of
// 64 images 82 and 110, of four 55 and 46: sums of 588 terms, and one block for all maps. Gradients of inputs
// took 480 us on an H200 where images in fragments of tf32 take 42 (16 maps of 10 x 10, 256 images). Beyond a
// few channels a band of the image leaves room for few warps, which wait for each value: 64 channels of 112 x
// 112 in bf16 took 2,209 us, where cuDNN and a pool take 100 (85 images).
Verdict pays(const Problem& p, const Target& target) {
  constexpr int kTilesOfBlock = 10, kExactChannels = 32, kRoundedChannels = 24;
  constexpr double kLargeImage = 2e6, kLargeBatch = 1e8;  // products
  constexpr int kLongSums = 256;
  if (is_gradient(p)) return refuse("images in fragments of tf32 are faster for gradients");
  const bool exact = is_exact_fp32(p, target);
  if (shape_of(p).channels > (exact ? kExactChannels : kRoundedChannels))
    return refuse("many channels: a band of the image leaves room for too few warps");
  const BlockShape s = shape_of(p);
  const double image = double(s.depth()) * s.maps * s.conv_h * s.conv_w;
  std::string why;
  const auto q = block_plan(s, exact, target, why);
  if (q && q->map_blocks == 1 && s.depth() >= kLongSums && image >= kLargeImage &&
      image * s.batch >= kLargeBatch)
    return accept();
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

// Warps compute several whole fragments. Exact: three products, and sums that begin anew every group of
// steps.
double executed_of(const BlockShape& s, const BlockPlan& q) {
  const int of_warp = cuda::block_rows16(q.split, q.columns8), fragment = cuda::places_of_fragment(q);
  double fragments = 0;
  for (int index = 0; index < q.tiles; ++index) {
    const int places = cuda::block_tile(s, q, index).places;
    fragments += (places + fragment * of_warp - 1) / (fragment * of_warp) * of_warp;
  }
  const double sums = fragments * 16 * 8 * q.columns8 * q.map_blocks;
  const double groups = double((q.steps + cuda::kBlockGroup - 1) / cuda::kBlockGroup);
  return sums * (32.0 * q.steps * (q.split ? 3 : 1) + (q.split ? groups + 1 : 0));
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
  work.main().executed = executed_of(s, *q);
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
