#pragma once

// Direct convolution with images in the lanes of a SIMD register. A block of as many images as a register has
// lanes is repacked so that lane l of every vector belongs to image l; then any stride, dilation or channel
// count vectorises without remainder, a weight is a broadcast, and a tile of maps x pixels stays in registers
// over all products.

#include <cstring>

#include "ops/conv2d/conv2d.h"
#include "ops/cpu/simd.h"

namespace headroom::lanes {

// Registers left for sums after a few for operands.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kAccumulators = 24;
#else
inline constexpr int kAccumulators = 12;
#endif

// One block in lane order: planes x rows x padded columns x lanes. Columns are padded with zeros, rows are
// skipped.
struct Plane {
  std::int64_t rows, columns, left, stride;  // stride: columns with their padding
  std::int64_t elements() const { return rows * stride; }
};

// Transposes an L x L tile held in registers: stage d swaps the off-diagonal halves of each 2d x 2d square.
template <class T>
inline void transpose(simd::Vec<T> (&r)[simd::kLanes<T>]) {
  using simd::kLanes;
  typedef simd::IntOf<T> Mask __attribute__((vector_size(simd::kVectorBytes)));
  for (int d = kLanes<T> / 2; d > 0; d /= 2) {
    Mask low, high;
    for (int i = 0; i < kLanes<T>; ++i) {
      low[i] = (i & d) == 0 ? i : kLanes<T> + i - d;
      high[i] = (i & d) == 0 ? i + d : kLanes<T> + i;
    }
    for (int i = 0; i < kLanes<T>; ++i) {
      if ((i & d) != 0) continue;
      const simd::Vec<T> a = r[i], b = r[i + d];
      r[i] = __builtin_shuffle(a, b, low);
      r[i + d] = __builtin_shuffle(a, b, high);
    }
  }
}

// n elements of `images` images, `distance` apart, to n vectors; absent images become zero lanes.
template <class T>
void pack(std::int64_t n, const T* from, std::int64_t distance, std::int64_t images, T* to) {
  constexpr int L = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; i + L <= n; i += L) {
    simd::Vec<T> r[L];
    for (int l = 0; l < L; ++l) r[l] = l < images ? simd::load(from + l * distance + i) : simd::Vec<T>{};
    transpose<T>(r);
    for (int l = 0; l < L; ++l) simd::store(to + (i + l) * L, r[l]);
  }
  for (; i < n; ++i)
    for (int l = 0; l < L; ++l) to[i * L + l] = l < images ? from[l * distance + i] : T{0};
}

template <class T>
void unpack(std::int64_t n, const T* from, T* to, std::int64_t distance, std::int64_t images) {
  constexpr int L = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; i + L <= n; i += L) {
    simd::Vec<T> r[L];
    for (int l = 0; l < L; ++l) r[l] = simd::load(from + (i + l) * L);
    transpose<T>(r);
    for (int l = 0; l < images; ++l) simd::store(to + l * distance + i, r[l]);
  }
  for (; i < n; ++i)
    for (int l = 0; l < images; ++l) to[l * distance + i] = from[i * L + l];
}

// `planes` planes of a block of images into padded lane order.
template <class T>
void pack_planes(const Plane& plane, std::int64_t planes, const T* from, std::int64_t distance,
                 std::int64_t images, T* to) {
  constexpr int L = simd::kLanes<T>;
  if (plane.stride == plane.columns) return pack(planes * plane.elements(), from, distance, images, to);
  const std::int64_t right = plane.stride - plane.left - plane.columns;
  for (std::int64_t row = 0; row < planes * plane.rows; ++row) {
    T* line = to + row * plane.stride * L;
    std::memset(line, 0, static_cast<std::size_t>(plane.left * L) * sizeof(T));
    pack(plane.columns, from + row * plane.columns, distance, images, line + plane.left * L);
    std::memset(line + (plane.left + plane.columns) * L, 0, static_cast<std::size_t>(right * L) * sizeof(T));
  }
}

// The weights of kMaps maps for one tap, ready to be multiplied into vectors of pixels.
template <class T, int kMaps>
struct Weights {
#if defined(__aarch64__)
  // Multiply-add by element: whole registers of weights, indexed by constants.
  static constexpr int kRegisters = (kMaps + simd::kLanes<T> - 1) / simd::kLanes<T>;
  simd::Vec<T> r[kRegisters];
  explicit Weights(const T* from) {
    for (int i = 0; i < kRegisters; ++i) r[i] = simd::load(from + i * simd::kLanes<T>);
  }
  simd::Vec<T> operator[](int m) const {
    return simd::broadcast<T>(r[m / simd::kLanes<T>][m % simd::kLanes<T>]);
  }
#else
  const T* from;  // a broadcast from memory is free on x86-64
  explicit Weights(const T* w) : from(w) {}
  simd::Vec<T> operator[](int m) const { return simd::broadcast<T>(from[m]); }
#endif
};

// Maps per tile: the choice that pads the fewest maps; each leaves room for kAccumulators / maps pixels.
inline int tile_maps(std::int64_t maps) {
  int best = 4;
  for (int candidate : {4, 6, 8}) {
    if (candidate > kAccumulators / 2) continue;
    auto padded = [&](int tile) { return (maps + tile - 1) / tile * tile; };
    if (padded(candidate) <= padded(best)) best = candidate;
  }
  return best;
}
// Packed weights of one tap take whole registers so that a load never runs over the next tap's.
template <class T>
inline int padded_tile(int maps) {
  return (maps + simd::kLanes<T> - 1) / simd::kLanes<T> * simd::kLanes<T>;
}

// Scratch of one thread and of all threads, in elements.
struct Scratch {
  std::int64_t per_thread, shared;
};

// y = f(x * w + bias). The input gradient, too, is such a convolution: of dy, with transposed weights.
template <class T>
struct Direct {
  Conv2d c;
  bool transposed = false;  // weights are those of the forward convolution, to be read transposed and flipped
  Scratch scratch() const;
  void run(const T* x, const T* w, const T* bias, T* y, T* workspace) const;
};

// dw, summed over lanes at the end.
template <class T>
struct WeightGradient {
  Conv2d c;
  int threads = 1;
  Scratch scratch() const;
  void run(const T* x, const T* dy, T* dw, T* workspace) const;
};

Plane input_plane_of(const Conv2d& c);

}  // namespace headroom::lanes
