// The definition: seven loops, shared by the three products, which differ only in what is read and what is
// summed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/conv2d/conv2d.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace conv2d_reference_cc {
namespace {

// Calls visit(x index, w index, y index) for every product of the convolution.
template <class Visit>
void for_each_product(const Conv2d& c, Visit&& visit) {
  const Window2d& win = c.window;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t m = 0; m < c.maps; ++m)
      for (std::int64_t oh = 0; oh < win.output.h; ++oh)
        for (std::int64_t ow = 0; ow < win.output.w; ++ow) {
          const std::int64_t y = ((n * c.maps + m) * win.output.h + oh) * win.output.w + ow;
          for (std::int64_t k = 0; k < c.group_channels(); ++k)
            for (std::int64_t kh = 0; kh < win.kernel.h; ++kh) {
              const std::int64_t ih = oh * win.stride.h - win.pad.h + kh * win.dilation.h;
              if (ih < 0 || ih >= win.input.h) continue;
              const std::int64_t channel = m / c.group_maps() * c.group_channels() + k;
              const std::int64_t x_row = ((n * c.channels + channel) * win.input.h + ih) * win.input.w;
              const std::int64_t w_row = ((m * c.group_channels() + k) * win.kernel.h + kh) * win.kernel.w;
              for (std::int64_t kw = 0; kw < win.kernel.w; ++kw) {
                const std::int64_t iw = ow * win.stride.w - win.pad.w + kw * win.dilation.w;
                if (iw >= 0 && iw < win.input.w) visit(x_row + iw, w_row + kw, y);
              }
            }
        }
}

template <class T>
T pooled(const BlockPool& pool, const T* plane, std::int64_t i, std::int64_t j) {
  const Window2d& w = pool.window;
  T sum = 0, best = -std::numeric_limits<T>::infinity();
  std::int64_t divisor = 0;
  for (std::int64_t kh = 0; kh < w.kernel.h; ++kh)
    for (std::int64_t kw = 0; kw < w.kernel.w; ++kw) {
      const std::int64_t h = i * w.stride.h - w.pad.h + kh * w.dilation.h,
                         v = j * w.stride.w - w.pad.w + kw * w.dilation.w;
      const bool inside = h >= 0 && h < w.input.h && v >= 0 && v < w.input.w;
      const bool padded = h < w.input.h + w.pad_end.h && v < w.input.w + w.pad_end.w;
      divisor += pool.count_include_pad ? padded : inside;
      if (!inside) continue;
      const T x = plane[h * w.input.w + v];
      sum += x;
      if (exceeds(x, best)) best = x;
    }
  return pool.kind == BlockPool::Kind::max ? best : divisor == 0 ? T{0} : sum / static_cast<T>(divisor);
}

template <class T>
void pool_planes(const Conv2d& c, const T* from, T* to) {
  const Extent2d out = c.pool.window.output;
  for (std::int64_t plane = 0; plane < c.batch * c.maps; ++plane)
    for (std::int64_t i = 0; i < out.h; ++i)
      for (std::int64_t j = 0; j < out.w; ++j) *to++ = pooled(c.pool, from + plane * c.output_plane(), i, j);
}

// What is pooled is first made whole.
std::size_t workspace(const Problem& p, const Target&) {
  if (p.op != "conv2d_block") return 0;
  const Conv2d c = parse_conv2d(p);
  if (!c.pools()) return 0;
  return static_cast<std::size_t>(c.batch * c.output_image()) * size_of(p.outputs[0].dtype);
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  const Conv2d conv = parse_conv2d(p);
  const std::int64_t results = conv.pools() ? conv.batch * conv.output_image() : p.outputs[0].shape.numel();
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [c = conv, op = p.op, results](const LaunchArgs& a) {
      const T *first = a.in<T>(0), *second = a.in<T>(1);
      T* out = c.pools() ? static_cast<T*>(a.workspace) : a.out<T>(0);
      std::fill(out, out + results, T{0});
      if (op == "conv2d_grad_input") {
        for_each_product(c, [&](auto x, auto w, auto y) { out[x] += first[y] * second[w]; });
      } else if (op == "conv2d_grad_weight") {
        for_each_product(c, [&](auto x, auto w, auto y) { out[w] += first[x] * second[y]; });
      } else {
        for_each_product(c, [&](auto x, auto w, auto y) { out[y] += first[x] * second[w]; });
        for (std::int64_t y = 0; y < results; ++y) {
          const auto m = static_cast<std::size_t>(y / c.output_plane() % c.maps);
          T z = out[y] + (c.bias ? a.in<T>(2)[m] : T{0});
          if (c.norm) {
            const std::size_t at = c.norm_input();
            const T mean = a.in<T>(at + 2)[m], variance = a.in<T>(at + 3)[m];
            z = (z - mean) / std::sqrt(variance + static_cast<T>(c.epsilon)) * a.in<T>(at)[m] +
                a.in<T>(at + 1)[m];
          }
          if (c.residual) z += a.in<T>(c.residual_input())[y];
          z = activate_scalar(c.activation, z);
          if (z < static_cast<T>(c.low)) z = static_cast<T>(c.low);
          if (z > static_cast<T>(c.high)) z = static_cast<T>(c.high);
          out[y] = z;
        }
        if (c.pools()) pool_planes(c, out, a.out<T>(0));
      }
    };
  });
}

}  // namespace
}  // namespace conv2d_reference_cc

Kernel conv2d_reference() {
  using namespace conv2d_reference_cc;
  return {.name = "reference", .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
