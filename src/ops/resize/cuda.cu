// The places are worked out in fp64, in a small kernel of their own, with the operations of the definition
// and in their order: an output lies on the same side of every tie.
#include "ops/cuda/index.cuh"
#include "ops/resize/cuda.h"

namespace headroom::cuda {
namespace {

struct Spot {
  int low;
  double weight;
};

// One axis: its sizes, and the scale where that says more than they do.
struct Axis {
  int input, output;
  double scale;
};

__device__ Spot spot_of(const ResizeShape& s, int o, const Axis& axis) {
  const double m = axis.input, n = axis.output, at = o;
  double x = 0;
  if (axis.scale > 0 && s.place != ResizePlace::align_corners) {
    const bool corner = s.place == ResizePlace::asymmetric;
    x = corner ? __ddiv_rn(at, axis.scale) : __dadd_rn(__ddiv_rn(at + 0.5, axis.scale), -0.5);
  } else {
    switch (s.place) {
      case ResizePlace::asymmetric:
        x = __ddiv_rn(__dmul_rn(at, m), n);
        break;
      case ResizePlace::align_corners:
        x = axis.output == 1 ? 0 : __ddiv_rn(__dmul_rn(at, m - 1), n - 1);
        break;
      default:
        x = __dadd_rn(__ddiv_rn(__dmul_rn(2 * at + 1, m), 2 * n), -0.5);
    }
  }
  switch (s.rounding) {
    case ResizeRounding::prefer_floor:
      x = ceil(x - 0.5);
      break;
    case ResizeRounding::prefer_ceil:
      x = floor(x + 0.5);
      break;
    case ResizeRounding::floor:
      x = floor(x);
      break;
    case ResizeRounding::ceil:
      x = ceil(x);
      break;
    default:
      break;
  }
  x = x < 0 ? 0 : x > m - 1 ? m - 1 : x;
  const int low = static_cast<int>(x);
  return {low, x - low};
}

// The first output whose `low` is `least` or more: places grow with o.
__device__ int first_from(const ResizeShape& s, int least, const Axis& axis) {
  int begin = 0, end = axis.output;
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    if (spot_of(s, middle, axis).low >= least)
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

__device__ void fill_axis(const ResizeShape& s, std::int64_t i, const Axis& axis, bool backward,
                          ResizeTap* taps) {
  ResizeTap tap{};
  if (i < axis.output) {
    const Spot spot = spot_of(s, static_cast<int>(i), axis);
    tap.low = spot.low, tap.weight = spot.weight;
  }
  if (backward && i < axis.input) {
    tap.begin = first_from(s, static_cast<int>(i) - 1, axis);
    tap.end = first_from(s, static_cast<int>(i) + 1, axis);
  }
  taps[i] = tap;
}

__global__ void __launch_bounds__(kThreads)
    fill_taps(ResizeShape s, std::int64_t height, std::int64_t width, bool backward, ResizeTap* taps) {
  const std::int64_t i = thread_number();
  if (i < height)
    fill_axis(s, i, {s.rows, s.out_rows, s.scale_rows}, backward, taps);
  else if (i < height + width)
    fill_axis(s, i - height, {s.columns, s.out_columns, s.scale_columns}, backward, taps + height);
}

// A weight of nothing reads nothing, were it infinite.
template <class T, class C>
__device__ C weighed(C sum, C weight, const T* x) {
  return weight == 0 ? sum : sum + weight * widen(*x);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    sample(ResizeShape s, std::int64_t n, std::int64_t height, const T* x, const ResizeTap* taps, T* y) {
  using C = Compute<T>;
  for (std::int64_t k = thread_number(); k < n; k += thread_count()) {
    const Cut row = cut(k, s.out_columns), plane = cut(row.whole, s.out_rows);
    const ResizeTap down = taps[plane.rest], right = taps[height + row.rest];
    const T* corner = x + (plane.whole * s.rows + down.low) * s.columns + right.low;
    if (s.rounding != ResizeRounding::none) {
      y[k] = *corner;
      continue;
    }
    const C below = static_cast<C>(down.weight), beside = static_cast<C>(right.weight);
    const C above = static_cast<C>(1 - down.weight), here = static_cast<C>(1 - right.weight);
    C sum = weighed(C{0}, above * here, corner);  // a weight beyond the last row or column is 0
    sum = weighed(sum, above * beside, corner + 1);
    sum = weighed(sum, below * here, corner + s.columns);
    sum = weighed(sum, below * beside, corner + s.columns + 1);
    y[k] = narrow<T>(sum);
  }
}

// What output `o` gives to input i.
__device__ inline double share_of(const ResizeTap& tap, int i) {
  return tap.low == i ? 1 - tap.weight : tap.low + 1 == i ? tap.weight : 0;
}

template <class T>
__global__ void __launch_bounds__(kThreads) sample_grad(ResizeShape s, std::int64_t n, std::int64_t height,
                                                        const T* dy, const ResizeTap* taps, T* dx) {
  using C = Compute<T>;
  for (std::int64_t k = thread_number(); k < n; k += thread_count()) {
    const Cut row = cut(k, s.columns), plane = cut(row.whole, s.rows);
    const int i = static_cast<int>(plane.rest), j = static_cast<int>(row.rest);
    const ResizeTap down = taps[i], right = taps[height + j];
    C sum = 0;
    for (int r = down.begin; r < down.end; ++r) {
      const C vertical = static_cast<C>(share_of(taps[r], i));
      if (vertical == 0) continue;
      for (int c = right.begin; c < right.end; ++c)
        sum = weighed(sum, vertical * static_cast<C>(share_of(taps[height + c], j)),
                      dy + (plane.whole * s.out_rows + r) * s.out_columns + c);
    }
    dx[k] = narrow<T>(sum);
  }
}

std::int64_t fill(const ResizeShape& s, bool backward, ResizeTap* taps, cudaStream_t stream) {
  const std::int64_t height = s.rows > s.out_rows ? s.rows : s.out_rows,
                     width = s.columns > s.out_columns ? s.columns : s.out_columns;
  fill_taps<<<blocks_for(height + width), kThreads, 0, stream>>>(s, height, width, backward, taps);
  HEADROOM_CUDA_LAUNCHED();
  return height;
}

}  // namespace

void resize(DType dtype, const ResizeShape& s, const void* x, ResizeTap* taps, void* y, cudaStream_t stream) {
  const std::int64_t height = fill(s, false, taps, stream), n = s.planes * s.out_rows * s.out_columns;
  dispatch_floats(dtype, [&]<class T>() {
    sample<<<blocks_striding(n), kThreads, 0, stream>>>(s, n, height, static_cast<const T*>(x), taps,
                                                        static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void resize_grad(DType dtype, const ResizeShape& s, const void* dy, ResizeTap* taps, void* dx,
                 cudaStream_t stream) {
  const std::int64_t height = fill(s, true, taps, stream), n = s.planes * s.rows * s.columns;
  dispatch_floats(dtype, [&]<class T>() {
    sample_grad<<<blocks_striding(n), kThreads, 0, stream>>>(s, n, height, static_cast<const T*>(dy), taps,
                                                             static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
