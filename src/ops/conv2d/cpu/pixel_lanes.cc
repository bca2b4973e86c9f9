// Pixels in the lanes of a register: which problems it takes, how each product is put to it, and what it does
// to a sum. The loops are in pixel_lanes_loops.cc.
#include <cmath>

#include "ops/conv2d/cpu/pixel_tile.h"
#include "ops/cpu/parallel.h"
#include "ops/pool/cpu/pairs.h"

namespace headroom {
namespace pixels {

template <class T>
Finish<T> finish_of(const Conv2d& c, const LaunchArgs& a, T* scratch) {
  Finish<T> finish;
  T *scale = scratch, *start = scratch + c.maps;
  const T* bias = c.bias ? a.in<T>(2) : nullptr;
  if (c.norm) {
    const std::size_t at = c.norm_input();
    const T *gamma = a.in<T>(at), *beta = a.in<T>(at + 1), *mean = a.in<T>(at + 2),
            *variance = a.in<T>(at + 3);
    for (std::int64_t m = 0; m < c.maps; ++m) {
      const double factor = double{gamma[m]} / std::sqrt(double{variance[m]} + c.epsilon);
      scale[m] = static_cast<T>(factor);
      start[m] =
          static_cast<T>(double{beta[m]} + ((bias ? double{bias[m]} : 0.0) - double{mean[m]}) * factor);
    }
    finish.scale = scale, finish.start = start;
  } else if (bias != nullptr) {
    finish.start = bias;
  } else {
    std::fill(start, start + c.maps, T{0});
    finish.start = start;
  }
  if (c.residual) finish.residual = a.in<T>(c.residual_input());
  finish.low = c.activation == Activation::relu ? T{0} : static_cast<T>(c.low);
  finish.high = static_cast<T>(c.high);
  return finish;
}

template <class T>
void squeeze(const Conv2d& c, T* y) {
  if (is_cut(c.activation)) return;
  parallel_for(c.batch * c.maps, kElementwiseGrain / c.output_plane() + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 T* from = y + begin * c.output_plane();
                 apply_activation(c.activation, (end - begin) * c.output_plane(), from, from);
               });
}

template Finish<float> finish_of(const Conv2d&, const LaunchArgs&, float*);
template Finish<double> finish_of(const Conv2d&, const LaunchArgs&, double*);
template void squeeze(const Conv2d&, float*);
template void squeeze(const Conv2d&, double*);

}  // namespace pixels

namespace conv2d_cpu_pixel_lanes_cc {
namespace {

bool is_input_gradient(const Problem& p) { return p.op == "conv2d_grad_input"; }

template <class T>
pixels::PixelLanes<T> kernel_of(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  return {is_input_gradient(p) ? pixels::input_gradient_as_conv(c) : c, is_input_gradient(p),
          target.device.threads};
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  if (p.op == "conv2d_grad_weight") return refuse("sums over pixels: a matrix product");
  const Conv2d c = parse_conv2d(p);
  if (c.pools())
    if (Verdict v = pairs::accepts_window(c.pool.window); !v.ok) return v;
  if (!is_input_gradient(p)) return accept();
  if (c.window.stride != Extent2d{1, 1}) return refuse("input gradient of a strided window");
  const Conv2d t = pixels::input_gradient_as_conv(c);
  if (t.window.pad.h < 0 || t.window.pad.w < 0) return refuse("padding wider than the window");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const auto kernel = kernel_of<T>(p, target);
    const pixels::Scratch s = kernel.scratch();
    const std::int64_t elements =
        s.shared + target.device.threads * s.per_thread + pixels::finish_elements(kernel.c);
    return static_cast<std::size_t>(elements) * sizeof(T);
  });
}

// Copies of the image are written and read once more. Maps that do not fill a tile are computed all the same.
Work work(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const auto kernel = kernel_of<T>(p, target);
    Work work = least_work(p, target);
    work.with("cpu.pixel_lanes", ordinary_unit(p.outputs[0].dtype),
              {.n = kernel.c.output_plane(), .k = kernel.c.depth()});
    if (kernel.each_alone())
      work.main().blocks = kernel.c.batch * kernel.c.groups * kernel.shares(kernel.threads).parts;
    work.add_bytes(2.0 * double(kernel.c.batch * kernel.c.groups * kernel.source.elements()) * sizeof(T));
    const double maps = double(kernel.c.group_maps()),
                 tile = maps <= 4 ? 0 : double(pixels::tile_shape(kernel.c.group_maps()).maps);
    work.main().useful = maps <= 4 ? 0.5 : maps / (std::ceil(maps / tile) * tile);
    return work;
  });
}

Launcher prepare(const Problem& p, const LaunchContext& context) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [kernel = kernel_of<T>(p, context.target),
            sizes = kernel_of<T>(p, context.target).scratch()](const LaunchArgs& a) {
      T* workspace = static_cast<T*>(a.workspace);
      T* finish = workspace + sizes.shared + kernel.threads * sizes.per_thread;
      T* out = a.out<T>(0);
      kernel.run(a.in<T>(0), a.in<T>(1), pixels::finish_of<T>(kernel.c, a, finish), out, workspace);
      if (!kernel.c.pools()) pixels::squeeze(kernel.c, out);
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_pixel_lanes_cc

Kernel conv2d_cpu_pixel_lanes() {
  using namespace conv2d_cpu_pixel_lanes_cc;
  return {.name = "cpu:pixel_lanes",
          .accepts = accepts,
          .work = work,
          .prepare = prepare,
          .workspace = workspace};
}

}  // namespace headroom
