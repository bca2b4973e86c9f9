#include "ops/cuda/index.cuh"
#include "ops/pad/cuda.h"

namespace headroom::cuda {
namespace {

using Mode = PadAxes::Mode;

// Where element i of the endless axis lies on one of n elements; -1: nowhere.
__device__ inline std::int64_t source_of(Mode mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == Mode::constant) return -1;
  if (mode == Mode::edge) return i < 0 ? 0 : n - 1;
  return i < 0 ? -i : 2 * (n - 1) - i;
}

template <class T>
__global__ void __launch_bounds__(kThreads) pad_elements(PadAxes p, std::int64_t n, const T* x, T* y) {
  const T value = narrow<T>(static_cast<Compute<T>>(p.value));
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    std::int64_t left = i, at = 0, stride = 1;
    bool inside = true;
    for (int a = p.rank - 1; a >= 0; --a) {
      const Cut index = a > 0 ? cut(left, p.output[a]) : Cut{0, left};
      const std::int64_t source = source_of(p.mode, index.rest - p.before[a], p.input[a]);
      inside &= source >= 0;
      at += source * stride, stride *= p.input[a], left = index.whole;
    }
    y[i] = inside ? x[at] : value;
  }
}

// The outputs that come from input i of an axis: at most three by reflection, a run by repeating the edge.
struct Copies {
  std::int64_t first = 0, count = 0;     // a run
  std::int64_t second = -1, third = -1;  // two more places; -1: none
  __device__ std::int64_t total() const { return count + (second >= 0) + (third >= 0); }
  __device__ std::int64_t at(std::int64_t k) const {
    if (k < count) return first + k;
    return k == count && second >= 0 ? second : third;
  }
};

__device__ Copies copies_of(const PadAxes& p, int a, std::int64_t i) {
  const std::int64_t n = p.input[a], m = p.output[a], before = p.before[a];
  const auto clamped = [&](std::int64_t o) { return o < 0 ? 0 : o > m ? m : o; };
  std::int64_t first = before + i, end = first + 1;
  if (p.mode == Mode::edge) {
    if (i == 0) first = 0;
    if (i == n - 1) end = m;
  }
  first = clamped(first), end = clamped(end);
  Copies copies{.first = first, .count = end > first ? end - first : 0};
  if (p.mode == Mode::reflect) {
    const std::int64_t left = before - i, right = before + 2 * (n - 1) - i;
    if (i > 0 && left >= 0 && left < m) copies.second = left;
    if (i < n - 1 && right >= 0 && right < m) copies.third = right;
  }
  return copies;
}

template <class T>
__global__ void __launch_bounds__(kThreads) gather_copies(PadAxes p, std::int64_t n, const T* dy, T* dx) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    std::int64_t left = i, total = 1;
    for (int a = p.rank - 1; a >= 0; --a) {
      const Cut index = cut(left, p.input[a]);
      total *= copies_of(p, a, index.rest).total(), left = index.whole;
    }
    // Nearly always one; the corners have many, in every combination.
    Compute<T> sum = 0;
    for (std::int64_t k = 0; k < total; ++k) {
      std::int64_t rest = k, at = 0, stride = 1;
      left = i;
      for (int a = p.rank - 1; a >= 0; --a) {
        const Cut index = cut(left, p.input[a]);
        const Copies copies = copies_of(p, a, index.rest);
        const Cut which = cut(rest, copies.total());
        at += copies.at(which.rest) * stride;
        stride *= p.output[a], left = index.whole, rest = which.whole;
      }
      sum += widen(dy[at]);
    }
    dx[i] = narrow<T>(sum);
  }
}

std::int64_t elements_of(const std::int64_t* extents, int rank) {
  std::int64_t n = 1;
  for (int a = 0; a < rank; ++a) n *= extents[a];
  return n;
}

}  // namespace

void pad(DType dtype, const PadAxes& p, const void* x, void* y, cudaStream_t stream) {
  const std::int64_t n = elements_of(p.output, p.rank);
  dispatch_floats(dtype, [&]<class T>() {
    pad_elements<<<blocks_striding(n), kThreads, 0, stream>>>(p, n, static_cast<const T*>(x),
                                                              static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void pad_grad(DType dtype, const PadAxes& p, const void* dy, void* dx, cudaStream_t stream) {
  const std::int64_t n = elements_of(p.input, p.rank);
  dispatch_floats(dtype, [&]<class T>() {
    gather_copies<<<blocks_striding(n), kThreads, 0, stream>>>(p, n, static_cast<const T*>(dy),
                                                               static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
