// The definition: one loop over all products, shared by the three operators, which differ only in what is
// read and what is summed.
#include <algorithm>

#include "ops/conv3d/conv3d.h"

namespace headroom {
namespace {

// Calls visit(x index, w index, y index) for every product of one map of one image at one output.
template <class Visit>
void each_tap(const Conv3d& c, std::int64_t n, std::int64_t m, std::int64_t y, Visit&& visit) {
  const Window3d& w = c.window;
  const std::int64_t od = y / w.output_plane(), oh = y / w.columns.output % w.rows.output,
                     ow = y % w.columns.output;
  for (std::int64_t k = 0; k < c.group_channels(); ++k)
    for (std::int64_t tap = 0; tap < w.taps(); ++tap) {
      const std::int64_t id = w.depth.source(od, tap / (w.rows.kernel * w.columns.kernel)),
                         ih = w.rows.source(oh, tap / w.columns.kernel % w.rows.kernel),
                         iw = w.columns.source(ow, tap % w.columns.kernel);
      if (id < 0 || ih < 0 || iw < 0) continue;
      const std::int64_t channel = m / c.group_maps() * c.group_channels() + k;
      visit((n * c.channels + channel) * w.inputs() + (id * w.rows.input + ih) * w.columns.input + iw,
            (m * c.group_channels() + k) * w.taps() + tap, (n * c.maps + m) * w.outputs() + y);
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

Kernel conv3d_reference() { return {.name = "reference", .prepare = prepare}; }

}  // namespace headroom
