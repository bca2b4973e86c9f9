#pragma once

// Register tiles: 256 threads compute a tile of C, each a square of outputs in registers, from slices of A
// and B that lie in shared memory as [k][row] and [k][column]. For kernels that bring the slices in by
// themselves.

#include "ops/product/cuda/rungs.cuh"

namespace headroom::cuda {

// fp64 takes twice the registers: a quarter of the outputs.
template <class T>
struct TileShape {
  static constexpr int kPer = sizeof(T) == 8 ? 4 : 8;  // rows and columns of a thread
  static constexpr int kTile = 16 * kPer, kDepth = 8;  // of a block: rows and columns, terms at a time
  static constexpr int kVec = kPack<T>;
  static constexpr int kGroups = kPer / kVec;    // a thread's rows come in packs, as far apart as can be
  static constexpr int kLine = kTile + kVec;     // of a slice, in elements: whole packs, other banks
  static constexpr int kSlice = kDepth * kLine;  // elements of one operand
  static constexpr int kShare = kTile * kDepth / kThreads;  // elements that a thread brings
  static_assert(kShare % kVec == 0);
};

// Row (or column) i of the thread with number t of 16.
template <class T>
__device__ inline int place_in_tile(int t, int i) {
  using Shape = TileShape<T>;
  return i / Shape::kVec * (Shape::kTile / Shape::kGroups) + t * Shape::kVec + i % Shape::kVec;
}

template <class T>
__device__ inline void multiply_slices(const T* left, const T* right,
                                       T (&sum)[TileShape<T>::kPer][TileShape<T>::kPer]) {
  using Shape = TileShape<T>;
  constexpr int kPer = Shape::kPer, kVec = Shape::kVec;
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
  for (int k = 0; k < Shape::kDepth; ++k) {
    T a[kPer], b[kPer];
#pragma unroll
    for (int g = 0; g < kPer; g += kVec) {
      const Pack<T> pa = *reinterpret_cast<const Pack<T>*>(left + k * Shape::kLine + place_in_tile<T>(y, g));
      const Pack<T> pb = *reinterpret_cast<const Pack<T>*>(right + k * Shape::kLine + place_in_tile<T>(x, g));
#pragma unroll
      for (int e = 0; e < kVec; ++e) a[g + e] = pa.v[e], b[g + e] = pb.v[e];
    }
#pragma unroll
    for (int i = 0; i < kPer; ++i)
#pragma unroll
      for (int j = 0; j < kPer; ++j) sum[i][j] += a[i] * b[j];
  }
}

template <class T>
__device__ inline void store_register_tile(const RungArgs& args, const RungPlace<T>& at,
                                           const TileCorner& corner,
                                           T (&sum)[TileShape<T>::kPer][TileShape<T>::kPer]) {
  using Shape = TileShape<T>;
  constexpr int kPer = Shape::kPer, kVec = Shape::kVec;
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const std::int64_t row = corner.row + place_in_tile<T>(y, i);
#pragma unroll
    for (int g = 0; g < kPer; g += kVec) {
      const std::int64_t column = corner.column + place_in_tile<T>(x, g);
      if (args.whole_c && row < args.m && column + kVec <= args.n) {
        T x4[kVec];
#pragma unroll
        for (int e = 0; e < kVec; ++e) x4[e] = sum[i][g + e];
        finish_sums(args, at.add, row, column, x4);
        Pack<T> pack;
#pragma unroll
        for (int e = 0; e < kVec; ++e) pack.v[e] = x4[e];
        *reinterpret_cast<Pack<T>*>(at.c + row * args.ldc + column) = pack;
      } else {
#pragma unroll
        for (int e = 0; e < kVec; ++e) store_sum(args, at, row, column + e, sum[i][g + e]);
      }
    }
  }
}

// Which elements of a slice a thread brings. kAlong: the operand is contiguous along k; else along its lines
// (rows of A, columns of B).
template <class T, bool kAlong>
struct SliceShare {
  using Shape = TileShape<T>;
  int line, k;  // of its pack `i`
  __device__ explicit SliceShare(int i) {
    const int pack = i * kThreads + static_cast<int>(threadIdx.x);
    constexpr int kPacks = (kAlong ? Shape::kDepth : Shape::kTile) / Shape::kVec;
    line = kAlong ? pack / kPacks : pack % kPacks * Shape::kVec;
    k = kAlong ? pack % kPacks * Shape::kVec : pack / kPacks;
  }
  // The place of element e of the pack in a slice, and how many of its elements exist.
  __device__ int place(int e) const {
    return kAlong ? (k + e) * Shape::kLine + line : k * Shape::kLine + line + e;
  }
  __device__ int valid(std::int64_t lines_left, std::int64_t k_left) const {
    const std::int64_t left =
        kAlong ? (line < lines_left ? k_left - k : 0) : (k < k_left ? lines_left - line : 0);
    return static_cast<int>(left < 0 ? 0 : left < Shape::kVec ? left : Shape::kVec);
  }
};

}  // namespace headroom::cuda
