// Groups of one channel. Each plane is copied with its padding, the columns of a stride apart, so that every
// tap is a row read straight on; then up to nine taps at once: sums stay in registers forward and in the
// weight gradient, the input gradient adds to the copy and takes the planes out of it.
#include <algorithm>
#include <array>
#include <utility>

#include "ops/conv2d/cpu/pixel_tile.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace conv2d_cpu_depthwise_cc {
namespace {

using pixels::Finish;
using pixels::first_at;
using pixels::Source;
using simd::broadcast;
using simd::load;
using simd::load_some;
using simd::store_some;
using simd::Vec;

constexpr int kMaxTaps = 9;

// A row of outputs, and where its taps are.
template <class T>
struct Row {
  std::int64_t width;
  const std::int64_t* offset;  // by tap
};

template <class T>
struct Cut {
  Vec<T> low, high;
};

// Four registers at once: one alone is a chain of sums that wait for each other.
template <class T, int kTaps>
void forward_row(const Row<T>& r, const T* x, const T* weights, T start, bool goes_on, const Cut<T>& cut,
                 T* y) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  Vec<T> w[kTaps];
  for (int t = 0; t < kTaps; ++t) w[t] = broadcast<T>(weights[t]);
  auto sums = [&]<int kFlight>(std::int64_t i) {
    Vec<T> s[kFlight];
    for (int f = 0; f < kFlight; ++f) s[f] = goes_on ? load(y + i + f * kL) : broadcast<T>(start);
    for (int t = 0; t < kTaps; ++t)
      for (int f = 0; f < kFlight; ++f) s[f] += w[t] * load(x + r.offset[t] + i + f * kL);
    for (int f = 0; f < kFlight; ++f) simd::store(y + i + f * kL, simd::cut(s[f], cut.low, cut.high));
  };
  std::int64_t i = 0;
  for (; i + 4 * kL <= r.width; i += 4 * kL) sums.template operator()<4>(i);
  for (; i + kL <= r.width; i += kL) sums.template operator()<1>(i);
  if (i == r.width) return;
  Vec<T> s = goes_on ? load_some(y + i, r.width - i) : broadcast<T>(start);
  for (int t = 0; t < kTaps; ++t) s += w[t] * load(x + r.offset[t] + i);
  store_some(y + i, simd::cut(s, cut.low, cut.high), r.width - i);
}

template <class T, int kTaps>
void scatter_row(const Row<T>& r, const T* dy, const T* weights, T* dx) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  for (int t = 0; t < kTaps; ++t) {
    T* to = dx + r.offset[t];
    const Vec<T> w = broadcast<T>(weights[t]);
    std::int64_t i = 0;
    for (; i + kL <= r.width; i += kL) simd::store(to + i, load(to + i) + w * load(dy + i));
    for (; i < r.width; ++i) to[i] += weights[t] * dy[i];
  }
}

template <class T, int kTaps>
void weight_rows(const Row<T>& r, std::int64_t rows, const T* x, std::int64_t pitch, const T* dy, T* dw) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  Vec<T> sum[kTaps] = {};
  for (std::int64_t row = 0; row < rows; ++row, x += pitch, dy += r.width) {
    auto add = [&](std::int64_t i, Vec<T> d) {
      for (int t = 0; t < kTaps; ++t) sum[t] += d * load(x + r.offset[t] + i);
    };
    std::int64_t i = 0;
    for (; i + kL <= r.width; i += kL) add(i, load(dy + i));
    if (i < r.width) add(i, load_some(dy + i, r.width - i));
  }
  for (int t = 0; t < kTaps; ++t) dw[t] += simd::sum<T>(sum[t]);
}

// Calls body.template operator()<kTaps>(first tap) until all taps are done.
template <class Body>
void for_taps(std::int64_t taps, Body&& body) {
  auto one = [&]<int kTaps>(std::int64_t first) { body.template operator()<kTaps>(first); };
  for (std::int64_t t = 0; t < taps; t += kMaxTaps) {
    const auto n = std::min<std::int64_t>(kMaxTaps, taps - t);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      ((n == std::int64_t(i) + 1 ? one.template operator()<int(i) + 1>(t) : void()), ...);
    }
    (std::make_index_sequence<kMaxTaps>());
  }
}

template <class T>
struct Depthwise {
  Conv2d c;
  Source source;
  explicit Depthwise(const Conv2d& convolution)
      : c(convolution), source(pixels::padded_source(c, simd::kLanes<T>)) {}

  // Each row of the image in its place; `visit(row of the image, at: place of its column 0 of phase f, i
  // range)`. Ranges are computed once for each phase: divisions of 64 bits would take longer than short rows.
  template <class Visit>
  void each_line(T* copy, Visit&& visit) const {
    const Window2d& w = c.window;
    const std::int64_t lines = source.channel / source.line;
    for (std::int64_t f = 0; f < w.stride.w; ++f) {
      const std::int64_t shift = f - w.pad.w, begin = first_at(0, shift, w.stride.w),
                         end = std::clamp(first_at(w.input.w, shift, w.stride.w), begin,
                                          std::max(begin, source.phase));
      for (std::int64_t ih = 0; ih < w.input.h; ++ih) {
        const std::int64_t line = ih + w.pad.h;
        visit(ih * w.input.w + shift, line < lines ? copy + line * source.line + f * source.phase : nullptr,
              begin, end);
      }
    }
  }

  void copy_in(const T* plane, T* copy) const {
    each_line(copy, [&](std::int64_t from, T* to, std::int64_t begin, std::int64_t end) {
      if (to == nullptr) return;
      const T* x = plane + from;
      switch (c.window.stride.w) {
        case 1:
          for (std::int64_t i = begin; i < end; ++i) to[i] = x[i];
          break;
        case 2:
          for (std::int64_t i = begin; i < end; ++i) to[i] = x[2 * i];
          break;
        default:
          for (std::int64_t i = begin; i < end; ++i) to[i] = x[i * c.window.stride.w];
      }
    });
  }

  // Pixels that no window reads have no gradient.
  void copy_out(T* copy, T* plane) const {
    std::fill(plane, plane + c.input_plane(), T{0});
    each_line(copy, [&](std::int64_t to, T* from, std::int64_t begin, std::int64_t end) {
      if (from == nullptr) return;
      for (std::int64_t i = begin; i < end; ++i) plane[to + i * c.window.stride.w] = from[i];
    });
  }

  std::int64_t maps() const { return c.group_maps(); }
  Row<T> row(std::int64_t first_tap) const { return {c.window.output.w, source.offset.data() + first_tap}; }

  // Planes of one thread: [begin, end) of all images and channels. The copy's padding stays zero throughout.
  void forward(std::int64_t begin, std::int64_t end, const T* x, const T* w, const Finish<T>& finish, T* y,
               T* copy) const {
    std::fill(copy, copy + source.channel, T{0});
    const Cut<T> none{broadcast<T>(-std::numeric_limits<T>::infinity()),
                      broadcast<T>(std::numeric_limits<T>::infinity())};
    const Cut<T> cut{broadcast<T>(finish.low), broadcast<T>(finish.high)};
    T scaled[kMaxTaps];
    for (std::int64_t plane = begin; plane < end; ++plane) {
      copy_in(x + plane * c.input_plane(), copy);
      for (std::int64_t m = 0; m < maps(); ++m) {
        const std::int64_t map = plane % c.channels * maps() + m,
                           at = (plane * maps() + m) * c.output_plane();
        for_taps(c.taps(), [&]<int kTaps>(std::int64_t first) {
          for (int t = 0; t < kTaps; ++t)
            scaled[t] = w[map * c.taps() + first + t] * (finish.scale ? finish.scale[map] : T{1});
          const Row<T> r = row(first);
          const bool last = first + kTaps == c.taps() && finish.residual == nullptr;
          for (std::int64_t oh = 0; oh < c.window.output.h; ++oh)
            forward_row<T, kTaps>(r, copy + oh * source.pitch, scaled, finish.start[map], first > 0,
                                  last ? cut : none, y + at + oh * r.width);
        });
        if (finish.residual != nullptr)
          simd::map2(c.output_plane(), y + at, finish.residual + at, y + at,
                     [=](Vec<T> v, Vec<T> more) { return simd::cut(v + more, cut.low, cut.high); });
      }
    }
  }

  void input_gradient(std::int64_t begin, std::int64_t end, const T* dy, const T* w, T* dx, T* copy) const {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::fill(copy, copy + source.channel, T{0});
      for (std::int64_t m = 0; m < maps(); ++m) {
        const T* from = dy + (plane * maps() + m) * c.output_plane();
        const T* weights = w + (plane % c.channels * maps() + m) * c.taps();
        for_taps(c.taps(), [&]<int kTaps>(std::int64_t first) {
          const Row<T> r = row(first);
          for (std::int64_t oh = 0; oh < c.window.output.h; ++oh)
            scatter_row<T, kTaps>(r, from + oh * r.width, weights + first, copy + oh * source.pitch);
        });
      }
      copy_out(copy, dx + plane * c.input_plane());
    }
  }

  // Channels of one thread, image by image: the bits do not depend on the number of threads.
  void weight_gradient(std::int64_t begin, std::int64_t end, const T* x, const T* dy, T* dw, T* copy) const {
    std::fill(copy, copy + source.channel, T{0});
    std::fill(dw + begin * maps() * c.taps(), dw + end * maps() * c.taps(), T{0});
    for (std::int64_t n = 0; n < c.batch; ++n)
      for (std::int64_t channel = begin; channel < end; ++channel) {
        copy_in(x + (n * c.channels + channel) * c.input_plane(), copy);
        for (std::int64_t m = 0; m < maps(); ++m) {
          const std::int64_t map = channel * maps() + m;
          for_taps(c.taps(), [&]<int kTaps>(std::int64_t first) {
            weight_rows<T, kTaps>(row(first), c.window.output.h, copy, source.pitch,
                                  dy + (n * c.maps + map) * c.output_plane(), dw + map * c.taps() + first);
          });
        }
      }
  }
};

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (c.pools()) return refuse("does not pool");
  if (c.group_channels() != 1 || c.groups == 1) return refuse("groups of more than one channel");
  if (c.group_maps() > 4) return refuse("more than 4 maps for each channel");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const Conv2d c = parse_conv2d(p);
    const std::int64_t copies = target.device.threads * Depthwise<T>(c).source.channel;
    return static_cast<std::size_t>(copies + pixels::finish_elements(c)) * sizeof(T);
  });
}

// A tap is a load and a multiply-add: the load ports set the pace.
Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  const Conv2d c = parse_conv2d(p);
  work.with("cpu.depthwise", ordinary_unit(p.outputs[0].dtype), {.n = c.output_plane()});
  work.main().blocks = p.op == "conv2d_grad_weight" ? c.channels : c.batch * c.channels;
  return work.add_bytes(2.0 * double(c.batch * c.input_image()) * double(size_of(p.outputs[0].dtype)));
}

Launcher prepare(const Problem& p, const LaunchContext& context) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [d = Depthwise<T>(parse_conv2d(p)), op = p.op,
            threads = context.target.device.threads](const LaunchArgs& a) {
      const Conv2d& c = d.c;
      T* copies = static_cast<T*>(a.workspace);
      auto copy = [&](int thread) { return copies + thread * d.source.channel; };
      const T *first = a.in<T>(0), *second = a.in<T>(1);
      T* out = a.out<T>(0);
      const std::int64_t grain = kElementwiseGrain / (c.group_maps() * c.taps() * c.output_plane()) + 1;
      if (op == "conv2d_grad_weight")
        return parallel_for(c.channels, grain / c.batch + 1,
                            [&](std::int64_t begin, std::int64_t end, int thread) {
                              d.weight_gradient(begin, end, first, second, out, copy(thread));
                            });
      const std::int64_t planes = c.batch * c.channels;
      if (op == "conv2d_grad_input")
        return parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
          d.input_gradient(begin, end, first, second, out, copy(thread));
        });
      const Finish<T> finish = pixels::finish_of<T>(c, a, copies + threads * d.source.channel);
      parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
        d.forward(begin, end, first, second, finish, out, copy(thread));
      });
      pixels::squeeze(c, out);
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_depthwise_cc

Kernel conv2d_cpu_depthwise() {
  using namespace conv2d_cpu_depthwise_cc;
  return {
      .name = "cpu:depthwise", .accepts = accepts, .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
