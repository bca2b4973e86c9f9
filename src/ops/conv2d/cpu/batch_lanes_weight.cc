// The weight gradient with images in lanes: a tile of maps x taps stays in registers over all positions of a
// block, and lanes are summed once, after the last block.
#include <algorithm>

#include "ops/conv2d/cpu/batch_lanes.h"
#include "ops/cpu/parallel.h"

namespace headroom::lanes {
namespace conv2d_cpu_batch_lanes_weight_cc {
namespace {

template <class T>
constexpr std::int64_t kL = simd::kLanes<T>;
constexpr int kTileMaps = 4;
constexpr int kTileTaps = kAccumulators >= 24 ? 5 : 2;

// Sums of dy[map] * x[tap] for kMaps maps and kTaps neighbouring taps of one kernel row, added to `sums`.
template <class T, int kMaps, int kTaps>
void tile(const Conv2d& c, const Plane& plane, const T* x, const T* dy, std::int64_t kh, std::int64_t kw,
          T* sums) {
  const Window2d& w = c.window;
  simd::Vec<T> sum[kMaps][kTaps];
  auto at = [&](int m, int t) { return sums + (m * c.depth() + t) * kL<T>; };
  for (int m = 0; m < kMaps; ++m)
    for (int t = 0; t < kTaps; ++t) sum[m][t] = simd::load(at(m, t));
  for (std::int64_t oh = 0; oh < w.output.h; ++oh) {
    const std::int64_t ih = oh * w.stride.h - w.pad.h + kh * w.dilation.h;
    if (ih < 0 || ih >= w.input.h) continue;
    const T* row = x + (ih * plane.stride + kw * w.dilation.w) * kL<T>;
    const T* gradient = dy + oh * w.output.w * kL<T>;
    for (std::int64_t ow = 0; ow < w.output.w; ++ow) {
      simd::Vec<T> pixel[kTaps];
      for (int t = 0; t < kTaps; ++t)
        pixel[t] = simd::load(row + (ow * w.stride.w + t * w.dilation.w) * kL<T>);
      for (int m = 0; m < kMaps; ++m) {
        const simd::Vec<T> g = simd::load(gradient + (m * c.output_plane() + ow) * kL<T>);
        for (int t = 0; t < kTaps; ++t) sum[m][t] += g * pixel[t];
      }
    }
  }
  for (int m = 0; m < kMaps; ++m)
    for (int t = 0; t < kTaps; ++t) simd::store(at(m, t), sum[m][t]);
}

template <class T, int kMaps>
void kernel_row(const Conv2d& c, const Plane& plane, const T* x, const T* dy, std::int64_t kh, T* sums) {
  std::int64_t kw = 0;
  for (; kw + kTileTaps <= c.window.kernel.w; kw += kTileTaps)
    tile<T, kMaps, kTileTaps>(c, plane, x, dy, kh, kw, sums + kw * kL<T>);
  for (; kw + 3 <= c.window.kernel.w; kw += 3) tile<T, kMaps, 3>(c, plane, x, dy, kh, kw, sums + kw * kL<T>);
  for (; kw < c.window.kernel.w; ++kw) tile<T, kMaps, 1>(c, plane, x, dy, kh, kw, sums + kw * kL<T>);
}

template <class T>
void block(const Conv2d& c, const Plane& plane, const T* x, const T* dy, T* sums) {
  for (std::int64_t g = 0; g < c.groups; ++g)
    for (std::int64_t m = 0; m < c.group_maps();) {
      const std::int64_t map = g * c.group_maps() + m, left = c.group_maps() - m;
      const T* gradient = dy + map * c.output_plane() * kL<T>;
      for (std::int64_t k = 0; k < c.group_channels(); ++k)
        for (std::int64_t kh = 0; kh < c.window.kernel.h; ++kh) {
          const T* image = x + (g * c.group_channels() + k) * plane.elements() * kL<T>;
          T* row = sums + (map * c.depth() + (k * c.window.kernel.h + kh) * c.window.kernel.w) * kL<T>;
          if (left >= kTileMaps)
            kernel_row<T, kTileMaps>(c, plane, image, gradient, kh, row);
          else if (left >= 2)
            kernel_row<T, 2>(c, plane, image, gradient, kh, row);
          else
            kernel_row<T, 1>(c, plane, image, gradient, kh, row);
        }
      m += left >= kTileMaps ? kTileMaps : left >= 2 ? 2 : 1;
    }
}

}  // namespace
}  // namespace conv2d_cpu_batch_lanes_weight_cc

template <class T>
std::int64_t WeightGradient<T>::pieces() const {
  constexpr std::int64_t kPieces = 16;  // more threads than these find no work
  return std::clamp<std::int64_t>((c.batch + simd::kLanes<T> - 1) / simd::kLanes<T>, 1, kPieces);
}

template <class T>
Scratch WeightGradient<T>::scratch() const {
  using namespace conv2d_cpu_batch_lanes_weight_cc;
  const std::int64_t copies = (c.channels * input_plane_of(c).elements() + c.output_image()) * kL<T>;
  return {copies, pieces() * c.weights() * kL<T>, copies + c.weights() * kL<T>};
}

template <class T>
void WeightGradient<T>::run(const T* x, const T* dy, T* dw, T* workspace) const {
  using namespace conv2d_cpu_batch_lanes_weight_cc;
  const Plane plane = input_plane_of(c);
  const Scratch size = scratch();
  const std::int64_t count = pieces(), blocks = (c.batch + kL<T> - 1) / kL<T>, of_piece = c.weights() * kL<T>;
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    T* const in = workspace + size.shared + thread * size.per_thread;
    T* const gradient = in + c.channels * plane.elements() * kL<T>;
    for (std::int64_t piece = begin; piece < end; ++piece) {
      T* const sums = workspace + piece * of_piece;
      std::fill(sums, sums + of_piece, T{0});
      for (std::int64_t b = blocks * piece / count; b < blocks * (piece + 1) / count; ++b) {
        const std::int64_t first = b * kL<T>, images = std::min(kL<T>, c.batch - first);
        pack_planes(plane, c.channels, x + first * c.input_image(), c.input_image(), images, in);
        pack(c.output_image(), dy + first * c.output_image(), c.output_image(), images, gradient);
        block(c, plane, in, gradient, sums);
      }
    }
  });
  const std::int64_t grain = kElementwiseGrain / (count * kL<T>);
  parallel_for(c.weights(), grain + 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      simd::Vec<T> sum = simd::load(workspace + i * kL<T>);
      for (std::int64_t piece = 1; piece < count; ++piece)
        sum += simd::load(workspace + piece * of_piece + i * kL<T>);
      dw[i] = simd::sum<T>(sum);
    }
  });
}

template struct WeightGradient<float>;
template struct WeightGradient<double>;

}  // namespace headroom::lanes
