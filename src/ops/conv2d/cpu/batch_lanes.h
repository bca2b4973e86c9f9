#pragma once

// Direct convolution with images in the lanes of a SIMD register. A block of as many images as a register has
// lanes is repacked so that lane l of every vector belongs to image l; then any stride, dilation or channel
// count vectorises without remainder, a weight is a broadcast, and a tile of maps x pixels stays in registers
// over all products.

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/cpu/batch_lanes_pack.h"
#include "ops/cpu/simd.h"

namespace headroom::lanes {

// Registers left for sums after a few for operands.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kAccumulators = 24;
#else
inline constexpr int kAccumulators = 12;
#endif

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

// Scratch of one thread and of all threads, and what one block of images touches, in elements.
struct Scratch {
  std::int64_t per_thread, shared, touched;
};

// y = f(x * w + bias). The input gradient, too, is such a convolution: of dy, with transposed weights.
template <class T>
struct Direct {
  Conv2d c;
  bool transposed = false;  // weights are those of the forward convolution, to be read transposed and flipped
  Scratch scratch() const;
  void run(const T* x, const T* w, const T* bias, T* y, T* workspace) const;
};

// dw, summed over lanes at the end. The blocks of a batch form pieces with sums of their own, as many on any
// number of threads: the bits depend on the batch alone.
template <class T>
struct WeightGradient {
  Conv2d c;
  std::int64_t pieces() const;
  Scratch scratch() const;
  void run(const T* x, const T* dy, T* dw, T* workspace) const;
};

Plane input_plane_of(const Conv2d& c);

}  // namespace headroom::lanes
