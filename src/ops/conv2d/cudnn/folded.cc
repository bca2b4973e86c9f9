// The library's convolution between copies with more channels: which problems are worth it, and what they
// then are.
#include <algorithm>
#include <utility>

#include "ops/conv2d/cudnn/cudnn.h"
#include "ops/conv2d/cudnn/folded.h"
#include "ops/conv2d/cudnn/nchw_copies.h"
#ifdef HEADROOM_HAS_CUDNN
#include "ops/conv2d/cudnn/device.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {
namespace {

constexpr std::int64_t kMaxChannels = 8;
constexpr std::int64_t kMaxPixels = 1024;  // of a block: patches of 32 x 32
constexpr double kMaxGrowth = 3;           // of the image by folding
constexpr double kMaxBytes = 1 << 30;      // of a copy: cuda::Folding counts on it

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double bytes_of(const TensorType& type) {  // of shapes that int64 may not count
  double bytes = double(size_of(type.dtype));
  for (const std::int64_t extent : type.shape.dims()) bytes *= double(extent);
  return bytes;
}

// How a tensor with these rows, columns and channels becomes the wide one.
cuda::Folding folding(const Extent2d& size, std::int64_t channels, const Extent2d& block, const Extent2d& pad,
                      const Shape& wide) {
  const auto i = [](std::int64_t v) { return static_cast<int>(v); };
  return {.height = i(size.h),
          .row = i(size.w * channels),
          .block = i(block.h),
          .run = i(block.w * channels),
          .top = i(pad.h),
          .left = i(pad.w * channels),
          .images = i(wide[0]),
          .folded_h = i(wide[2]),
          .folded_w = i(wide[3]),
          .wide = i(wide[1])};
}

// Blocks of one pixel leave the window as it is. Others are as large as its steps, which are of one block
// then; padding is part of the copy, and the last blocks of a filter may reach beyond it.
FoldedConv2d fold(const Problem& p, const Conv2d& c, const Extent2d& block, std::int64_t vector) {
  const Window2d& v = c.window;
  const bool steps = block != Extent2d{1, 1};
  const Extent2d kernel{ceil_div(v.kernel.h, block.h), ceil_div(v.kernel.w, block.w)};
  const Extent2d size = steps ? Extent2d{v.output.h - 1 + kernel.h, v.output.w - 1 + kernel.w} : v.input;
  const std::int64_t channels = ceil_div(block.h * block.w * c.channels, vector) * vector;
  FoldedConv2d folded{.name = steps ? "folded" : "padded", .problem = p, .image = {}, .filters = {}};
  Problem& wide = folded.problem;
  TensorType &x = wide.inputs[0], &w = folded.is_weight_gradient() ? wide.outputs[0] : wide.inputs[1];
  x = {{c.batch, channels, size.h, size.w}, x.dtype, Layout::nhwc};
  w = {{c.maps, channels, kernel.h, kernel.w}, w.dtype, Layout::nhwc};
  if (folded.is_weight_gradient()) wide.attrs.set("weight_shape", w.shape.vector());
  if (steps) {
    wide.attrs.set("strides", std::vector<std::int64_t>{1, 1});
    wide.attrs.set("pads", std::vector<std::int64_t>{0, 0, 0, 0});
    wide.attrs.set("auto_pad", std::string());
  }
  folded.image = folding(v.input, c.channels, block, steps ? v.pad : Extent2d{0, 0}, x.shape);
  folded.filters = folding(v.kernel, c.channels, block, {0, 0}, w.shape);
  return folded;
}

}  // namespace

std::vector<FoldedConv2d> conv2d_folded(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  const std::int64_t vector = 16 / static_cast<std::int64_t>(size_of(p.outputs[0].dtype));
  if (target.policy.deterministic || conv2d_layout(p) != Layout::nhwc || p.op == "conv2d_grad_input" ||
      takes_nchw_copies(p) || c.channels > kMaxChannels || c.channels % vector == 0)
    return {};
  std::vector<FoldedConv2d> list;
  const auto add = [&](const Extent2d& block, double max_bytes) {
    FoldedConv2d folded = fold(p, c, block, vector);
    if (bytes_of(folded.problem.inputs[0]) <= max_bytes && bytes_of(folded.filter_type()) <= kMaxBytes)
      list.push_back(std::move(folded));
  };
  const Extent2d one{1, 1}, stride = c.window.stride;
  add(one, kMaxBytes);
  if (stride != one && stride.h * stride.w <= kMaxPixels)
    add(stride, std::min(kMaxBytes, kMaxGrowth * bytes_of(p.inputs[0])));
  return list;
}

std::size_t folded_workspace(const FoldedConv2d& folded, const Target& target) {
  std::size_t bytes = cudnn_workspace(folded.problem, target);
  for (const TensorType& type : {folded.problem.inputs[0], folded.filter_type()})
    bytes += align_up(static_cast<std::size_t>(type.bytes()));
  return bytes;
}

#ifdef HEADROOM_HAS_CUDNN
Launcher prepare_folded(const FoldedConv2d& folded, const LaunchContext& context) {
  const Problem& p = folded.problem;
  return [run = prepare_conv2d_cudnn(p, context), image = folded.image, filters = folded.filters,
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
#endif

}  // namespace headroom
