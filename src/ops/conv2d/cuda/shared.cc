#include "ops/conv2d/cuda/shared.h"

#include <algorithm>
#include <utility>

namespace headroom {

using cuda::Sweep;

int processors(const Target& target) {
  return target.device.multiprocessors > 0 ? target.device.multiprocessors : 132;
}

int shared_bytes(const Target& target) {
  const int cc = target.device.compute_capability;
  return 1024 * (cc == 90 || cc == 100 || cc == 103 ? 227 : cc == 80 || cc == 87 ? 163 : 99);
}

Sweep sweep_of(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  const Window2d& w = c.window;
  const auto i = [](std::int64_t v) { return static_cast<int>(v); };
  Sweep s{.batch = i(c.batch),
          .groups = i(c.groups),
          .channels = i(c.group_channels()),
          .maps = i(c.group_maps()),
          .in_h = i(w.input.h),
          .in_w = i(w.input.w),
          .out_h = i(w.output.h),
          .out_w = i(w.output.w),
          .kernel_h = i(w.kernel.h),
          .kernel_w = i(w.kernel.w),
          .mul_h = i(w.stride.h),
          .mul_w = i(w.stride.w),
          .off_h = i(-w.pad.h),
          .off_w = i(-w.pad.w),
          .step_h = i(w.dilation.h),
          .step_w = i(w.dilation.w),
          .div_h = 1,
          .div_w = 1,
          .weight_group = c.group_maps() * c.depth(),
          .weight_map = c.depth(),
          .weight_channel = c.taps(),
          .activation = static_cast<int>(c.activation)};
  if (c.covers_input() && c.groups == 1) {  // a fully connected layer: every element is a channel of its own
    s.channels = i(c.depth()), s.weight_channel = 1;
    s.in_h = s.in_w = s.kernel_h = s.kernel_w = s.mul_h = s.mul_w = s.step_h = s.step_w = 1;
  }
  if (p.op != "conv2d_grad_input") return s;
  std::swap(s.channels, s.maps);
  std::swap(s.in_h, s.out_h);
  std::swap(s.in_w, s.out_w);
  std::swap(s.mul_h, s.div_h);
  std::swap(s.mul_w, s.div_w);
  std::swap(s.weight_map, s.weight_channel);
  s.off_h = -s.off_h, s.off_w = -s.off_w, s.step_h = -s.step_h, s.step_w = -s.step_w;
  s.activation = 0;
  return s;
}

Verdict has_wide_groups(const Sweep& s) {
  if (s.groups > 1 && (s.maps < 4 || s.channels < 2))
    return refuse("groups this narrow leave the tensor cores idle");
  return accept();
}

Verdict fits_tensor_cores(const Problem& p, const Sweep& s, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  if (target.device.compute_capability < 80) return refuse("its products need compute capability 8.0");
  return has_wide_groups(s);
}

ProductExtent extent_of(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  const std::int64_t places = c.batch * c.output_plane();
  if (is_weight_gradient(p)) return {c.maps, c.depth(), places};
  if (p.op == "conv2d_grad_input") return {c.batch * c.input_plane(), c.channels, c.group_maps() * c.taps()};
  return {places, c.maps, c.depth()};
}

namespace {

// Pairs of an output and a tap that read an element of the axis.
double pairs_inside(int outputs, int kernel, int mul, int off, int step, int div, int in) {
  std::int64_t pairs = 0;
  for (int at = 0; at < outputs; ++at)
    for (int tap = 0; tap < kernel; ++tap) {
      const int place = at * mul + off + tap * step;
      pairs += place >= 0 && place % div == 0 && place / div < in;
    }
  return double(pairs);
}

}  // namespace

double products_inside(const Sweep& s) {
  return double(s.batch) * s.groups * s.channels * s.maps *
         pairs_inside(s.out_h, s.kernel_h, s.mul_h, s.off_h, s.step_h, s.div_h, s.in_h) *
         pairs_inside(s.out_w, s.kernel_w, s.mul_w, s.off_w, s.step_w, s.div_w, s.in_w);
}

// Blocks begin and end within rows.
double elements_seen(const Sweep& s, int block) {
  const int plane = s.out_plane(), back = (s.kernel_h - 1) * s.step_h;
  double rows = 0;
  for (int first = 0; first < plane; first += block) {
    const double top = double(first) / s.out_w, bottom = double(std::min(plane, first + block)) / s.out_w;
    const double begin = (top * s.mul_h + s.off_h + std::min(0, back)) / s.div_h,
                 end = (bottom * s.mul_h + s.off_h + std::max(0, back)) / s.div_h;
    rows += std::min(end, double(s.in_h)) - std::max(begin, 0.0);
  }
  return rows * s.in_w;
}

double flops_inside(const Problem& p) {
  const bool bias = p.op == "conv2d" && parse_conv2d(p).bias;
  return 2 * products_inside(sweep_of(p)) + (bias ? double(p.outputs[0].shape.numel()) : 0);
}

std::string_view by_arithmetic(const Problem& p, const Target& target, std::string_view fp32,
                               std::string_view tf32, std::string_view fp64, std::string_view narrow) {
  if (p.outputs[0].dtype == DType::f64) return fp64;
  return is_exact_fp32(p, target) ? fp32 : p.outputs[0].dtype == DType::f32 ? tf32 : narrow;
}

std::size_t bytes_of_pieces(const Problem& p, int pieces) {
  const std::size_t element = p.outputs[0].dtype == DType::f64 ? 8 : 4;
  return element * static_cast<std::size_t>(p.outputs[0].shape.numel()) * static_cast<std::size_t>(pieces);
}

// Eight threads share an output's pieces.
Work with_pieces(const Problem& p, Work work, std::size_t workspace) {
  if (workspace == 0) return work;
  const double pieces = double(workspace) / double(bytes_of_pieces(p, 1));
  work.add_pass(2 * double(workspace)).launches.back().executed =
      (pieces + 8) * double(p.outputs[0].shape.numel());
  return work;
}

}  // namespace headroom
