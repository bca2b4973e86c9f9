// The definition: one loop over all products, shared by the three operators, which differ only in what is
// read and what is summed.
#include <algorithm>

#include "ops/conv3d/conv3d.h"

namespace headroom {
namespace conv3d_reference_cc {
namespace {

// Calls visit(x index, w index, y index) for every product of one map of one image at one output.
template <class Visit>
void each_tap(const Conv3d& c, std::int64_t n, std::int64_t m, std::int64_t y, Visit&& visit) {
  const Window3d& w = c.window;
  const std::int64_t od = y / w.output_plane(), oh = y / w.columns.output % w.rows.output,
                     ow = y % w.columns.output;
  for (std::int64_t k = 0; k < c.group_channels(); ++k)
    for (std::int64_t kd = 0; kd < w.depth.kernel; ++kd)
      for (std::int64_t kh = 0; kh < w.rows.kernel; ++kh) {
        const std::int64_t id = w.depth.source(od, kd), ih = w.rows.source(oh, kh);
        if (id < 0 || ih < 0) continue;
        const std::int64_t channel = m / c.group_maps() * c.group_channels() + k;
        const std::int64_t x_row =
            (n * c.channels + channel) * w.inputs() + (id * w.rows.input + ih) * w.columns.input;
        const std::int64_t w_row =
            (m * c.group_channels() + k) * w.taps() + (kd * w.rows.kernel + kh) * w.columns.kernel;
        for (std::int64_t kw = 0; kw < w.columns.kernel; ++kw)
          if (const std::int64_t iw = w.columns.source(ow, kw); iw >= 0)
            visit(x_row + iw, w_row + kw, (n * c.maps + m) * w.outputs() + y);
      }
}

template <class Visit>
void each_product(const Conv3d& c, Visit&& visit) {
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t m = 0; m < c.maps; ++m)
      for (std::int64_t y = 0; y < c.window.outputs(); ++y) each_tap(c, n, m, y, visit);
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [c = parse_conv3d(p), op = p.op, results = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      const T *first = a.in<T>(0), *second = a.in<T>(1);
      T* out = a.out<T>(0);
      std::fill(out, out + results, T{0});
      if (op == "conv3d_grad_input")
        return each_product(c, [&](auto x, auto w, auto y) { out[x] += first[y] * second[w]; });
      if (op == "conv3d_grad_weight")
        return each_product(c, [&](auto x, auto w, auto y) { out[w] += first[x] * second[y]; });
      each_product(c, [&](auto x, auto w, auto y) { out[y] += first[x] * second[w]; });
      for (std::int64_t y = 0; c.bias && y < results; ++y)
        out[y] += a.in<T>(2)[y / c.window.outputs() % c.maps];
    };
  });
}

}  // namespace
}  // namespace conv3d_reference_cc

Kernel conv3d_reference() {
  using namespace conv3d_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
