// Winograd's convolution: which problems it takes, and where it pays.
#include "ops/conv2d/cpu/winograd.h"

#include <cmath>

#include "ops/pool/cpu/pairs.h"

namespace headroom {
namespace conv2d_cpu_winograd_cc {
namespace {

using winograd::kPlaces, winograd::kTaps, winograd::Winograd;

bool is_input_gradient(const Problem& p) { return p.op == "conv2d_grad_input"; }

Conv2d convolution_of(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  return is_input_gradient(p) ? pixels::input_gradient_as_conv(c) : c;
}

template <class T>
Winograd<T> kernel_of(const Problem& p, const Target& target) {
  return {convolution_of(p), is_input_gradient(p), target.device.threads};
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  if (p.op == "conv2d_grad_weight") return refuse("for outputs and gradients of the input");
  const Conv2d c = parse_conv2d(p);
  if (c.window.kernel != Extent2d{3, 3}) return refuse("takes windows of 3x3");
  if (c.window.stride != Extent2d{1, 1} || c.window.dilation != Extent2d{1, 1})
    return refuse("takes no strides and no dilation");
  if (convolution_of(p).group_channels() == 1)
    return refuse("one channel: its transforms round more than the sums");
  if (is_input_gradient(p) && (c.window.pad.h > 2 || c.window.pad.w > 2))
    return refuse("padding wider than the window");
  if (!c.pools()) return accept();
  if (c.residual || !pixels::is_cut(c.activation)) return refuse("pools before a residual or an activation");
  return pairs::accepts_window(c.pool.window);
}

// Both costs in multiply-adds of a register. Of this kernel: products, beginning and ending their tiles,
// transforms of tiles and of filters. With pixels in the lanes: products, gathering pixels, ending tiles,
// packing filters. Fitted to 50 layers on one core of a Xeon with AVX-512, filters also to layers of 512
// channels: mean errors are 5.4 and 5.7 %, and 47 choices are right. Those of gradients follow from one
// layer.
Verdict pays(const Problem& p, const Target& target) {
  constexpr double kTileEnds = 24 * kPlaces, kTransform = 440, kAhead = 1.05;
  constexpr double kGathered = 91, kEnds = 12;
  // Filters of a gradient lie transposed.
  const double filter = is_input_gradient(p) ? 83 : 44, packed = is_input_gradient(p) ? 85 : 25;
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const Winograd<T> kernel = kernel_of<T>(p, target);
    const Conv2d& c = kernel.c;
    constexpr double kLanes = simd::kLanes<T>;
    const double channels = double(kernel.channels), maps = double(kernel.maps), images = double(c.batch),
                 own = std::ceil(images * double(kernel.tiles.h * kernel.tiles.w) / kLanes);
    const pixels::Source source = pixels::source_of(c, simd::kLanes<T>);
    const double others = images * double(pixels::registers_of(source.rows, source.width, simd::kLanes<T>));
    const double cost = own * (kPlaces * channels * maps + kTileEnds * maps + kTransform * channels) +
                        filter * channels * maps,
                 other = others * (kTaps * channels * maps + kGathered * channels + kEnds * maps) +
                         packed * channels * maps * images;
    return kAhead * cost < other ? accept() : refuse("its transforms cost more than the products they save");
  });
}

std::size_t workspace(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const auto kernel = kernel_of<T>(p, target);
    return static_cast<std::size_t>(kernel.elements() + pixels::finish_elements(kernel.c)) * sizeof(T);
  });
}

// 16 products a tile, map and channel; 32 additions a tile and channel, 24 a tile and map, 28 a filter.
Work work(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const auto kernel = kernel_of<T>(p, target);
    const Conv2d& c = kernel.c;
    const double channels = double(kernel.channels), maps = double(kernel.maps),
                 images = double(c.batch * c.groups), filters = double(c.groups) * channels * maps,
                 tiles = images * double(kernel.tiles.h * kernel.tiles.w);
    Work work = least_work(p, target);
    work.with("cpu.winograd", ordinary_unit(p.outputs[0].dtype),
              {kernel.maps, c.batch * kernel.tiles.h * kernel.tiles.w, kernel.channels});
    work.main().flops = tiles * (2.0 * kPlaces * channels * maps + 32 * channels + 24 * maps) + 28 * filters;
    work.fewer_products = true;
    return work.add_bytes(2.0 * kPlaces * filters * sizeof(T));
  });
}

Launcher prepare(const Problem& p, const LaunchContext& context) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [kernel = kernel_of<T>(p, context.target)](const LaunchArgs& a) {
      T* const workspace = static_cast<T*>(a.workspace);
      T* const out = a.out<T>(0);
      kernel.run(a.in<T>(0), a.in<T>(1), pixels::finish_of<T>(kernel.c, a, workspace + kernel.elements()),
                 out, workspace);
      pixels::squeeze(kernel.c, out);
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_winograd_cc

Kernel conv2d_cpu_winograd() {
  using namespace conv2d_cpu_winograd_cc;
  return {.name = "cpu:winograd",
          .accepts = accepts,
          .pays = pays,
          .work = work,
          .prepare = prepare,
          .workspace = workspace};
}

}  // namespace headroom
