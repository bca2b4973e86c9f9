// One thread for a few outputs of one place. Takes every shape and type.
#include <algorithm>

#include "ops/conv3d/conv3d.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/conv3d/cuda/direct.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {
namespace conv3d_cuda_direct_cc {
namespace {

// Pairs of an output and a tap that read an element of the axis.
double pairs_inside(const WindowAxis& a) {
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < a.output; ++i)
    for (std::int64_t k = 0; k < a.kernel; ++k) pairs += a.source(i, k) >= 0;
  return double(pairs);
}

// Products with padding are left out. Of weights, each lane sums 8 taps, which warps add up.
double executed_of(const Problem& p, const Conv3d& c) {
  const Window3d& w = c.window;
  const double products = double(c.batch * c.maps * c.group_channels()) * pairs_inside(w.depth) *
                          pairs_inside(w.rows) * pairs_inside(w.columns);
  const double outputs = double(p.outputs[0].shape.numel());
  if (p.op != "conv3d_grad_weight") return 2 * products + outputs;
  const double blocks = double(c.maps * c.group_channels() * ((w.taps() + 7) / 8));
  return 2 * products + blocks * 8 * 256 * 5 + 8 * outputs;
}

// What the windows of outputs from `first` to `last` see of an axis; backward, inputs of their readers.
struct Seen {
  double begin, end;
};
Seen seen_of(const WindowAxis& a, double first, double last, bool backward) {
  const auto reach = double((a.kernel - 1) * a.dilation), stride = double(a.stride), pad = double(a.pad);
  const double begin = backward ? (first + pad - reach) / stride : first * stride - pad,
               end = backward ? (last + pad) / stride : last * stride - pad + reach;
  return {std::max(begin, 0.0), std::min(end, double(backward ? a.output : a.input))};
}

// Rows of the input that blocks of 256 neighbouring places see in one volume; they begin and end within rows.
double rows_seen(const Window3d& w, bool backward) {
  constexpr std::int64_t kPlaces = 256;
  const std::int64_t columns = backward ? w.columns.input : w.columns.output,
                     lines = backward ? w.rows.input : w.rows.output, plane = columns * lines,
                     depth = backward ? w.depth.input : w.depth.output,
                     summed = backward ? w.depth.output : w.depth.input;
  double rows = 0;
  for (std::int64_t first = 0; first < plane * depth; first += kPlaces) {
    const std::int64_t last = std::min(plane * depth, first + kPlaces);
    for (std::int64_t z = 0; z < summed; ++z) {
      Seen all{double(plane), 0};
      for (std::int64_t d = first / plane; d * plane < last; ++d) {
        const Seen planes = seen_of(w.depth, double(d), double(d), backward);
        if (double(z) < planes.begin || double(z) > planes.end) continue;
        const Seen here =
            seen_of(w.rows, double(std::max(first - d * plane, std::int64_t{0})) / double(columns),
                    double(std::min(last - d * plane, plane)) / double(columns), backward);
        all = {std::min(all.begin, here.begin), std::max(all.end, here.end)};
      }
      rows += std::max(0.0, all.end - all.begin);
    }
  }
  return rows;
}

// The first cache keeps what a block reads: rows of all channels that are summed, and 4 maps of weights; of
// weights' gradients a map of dy and a channel of the volume.
double l2_bytes_of(const Problem& p, const Conv3d& c) {
  const Window3d& w = c.window;
  const double element = double(size_of(p.inputs[0].dtype)), outputs = double(p.outputs[0].bytes());
  if (p.op == "conv3d_grad_weight") {
    const double blocks = double(c.maps * c.group_channels() * ((w.taps() + 7) / 8));
    return blocks * double(c.batch * (w.inputs() + w.outputs())) * element + outputs;
  }
  const bool backward = p.op == "conv3d_grad_input";
  const std::int64_t made = backward ? c.group_channels() : c.group_maps(),
                     summed = backward ? c.group_maps() : c.group_channels(), map_blocks = (made + 3) / 4,
                     columns = backward ? w.columns.output : w.columns.input,
                     places = backward ? w.inputs() : w.outputs();
  const double volumes = double(c.batch * c.groups * map_blocks);
  return element * volumes *
             (rows_seen(w, backward) * double(columns * summed) +
              double((places + 255) / 256 * std::min<std::int64_t>(4, made) * summed * w.taps())) +
         outputs;
}

Work direct_work(const Problem& p, const Target& target) {
  const Conv3d c = parse_conv3d(p);
  Work work = least_work(p, target);
  work.with("gpu.conv.direct", ordinary_unit(p.outputs[0].dtype),
            {c.group_maps(), c.batch * c.window.outputs(), c.depth()});
  work.main().executed = executed_of(p, c);
  work.main().l2_bytes = std::max(work.bytes(), l2_bytes_of(p, c));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_direct(const Problem& p, const LaunchContext&) {
  const Conv3d c = parse_conv3d(p);
  const DType dtype = p.outputs[0].dtype;
  if (p.op == "conv3d_grad_input")
    return [=](const LaunchArgs& a) {
      cuda::conv3d_grad_input(dtype, c, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    };
  if (p.op == "conv3d_grad_weight")
    return [=](const LaunchArgs& a) {
      cuda::conv3d_grad_weight(dtype, c, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    };
  return [=](const LaunchArgs& a) {
    cuda::conv3d(dtype, c, a.inputs[0], a.inputs[1], c.bias ? a.inputs[2] : nullptr, a.outputs[0],
                 cuda::stream_of(a));
  };
}
#endif

}  // namespace
}  // namespace conv3d_cuda_direct_cc

Kernel conv3d_cuda_direct() {
  using namespace conv3d_cuda_direct_cc;
  return {.name = "cuda:direct",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = direct_work,
          .prepare = HEADROOM_CUDA(prepare_direct)};
}

}  // namespace headroom
