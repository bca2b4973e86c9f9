#pragma once

// Tiles of an operand in shared memory: as it lies in global memory, in rows of kDepth elements where it is
// contiguous along k, else one row of the tile for each k. Pieces of 16 bytes change places within a row
// (Math::swizzle_…), so that neither the copies nor the loads of fragments meet in a bank.

#include "ops/cuda/mma.cuh"

namespace headroom::cuda {

// Where element (row, k) of an operand's tile lies. kAlong: contiguous along k.
template <class Math, int kRows, bool kAlong>
struct Operand {
  using T = typename Math::T;
  static constexpr int kVec = kPack<T>, kDepth = Math::kDepth, kElements = kRows * kDepth;

  // `piece` counts 16 bytes: along k in a row, or along the rows at one k.
  __device__ static int offset(int line, int piece) {
    if constexpr (kAlong)
      return line * kDepth + (piece ^ Math::swizzle_along(line)) * kVec;
    else
      return line * kRows + (piece ^ Math::swizzle_across(line)) * kVec;
  }

  // Brings in a tile whose first element is at `from`; what lies outside of the matrix becomes 0.
  template <int kThreadsOfBlock>
  __device__ static void copy(T* tile, const T* from, std::int64_t ld, std::int64_t rows_left,
                              std::int64_t k_left, bool whole) {
    constexpr int kLines = kAlong ? kRows : kDepth, kPieces = (kAlong ? kDepth : kRows) / kVec;
    const int lines_left = static_cast<int>(min(kAlong ? rows_left : k_left, std::int64_t{kLines}));
    const int length_left = static_cast<int>(min(kAlong ? k_left : rows_left, std::int64_t{kPieces * kVec}));
    if (whole) {
      static_assert(kLines * kPieces % kThreadsOfBlock == 0);
#pragma unroll
      for (int i = 0; i < kLines * kPieces / kThreadsOfBlock; ++i) {
        const int at = i * kThreadsOfBlock + static_cast<int>(threadIdx.x);
        const int line = at / kPieces, piece = at % kPieces;
        const int valid = line < lines_left ? max(0, min(kVec, length_left - piece * kVec)) : 0;
        const T* source = valid > 0 ? from + line * ld + piece * kVec : from;
        copy_async<16>(tile + offset(line, piece), source, valid * static_cast<int>(sizeof(T)));
      }
    } else {
#pragma unroll 4
      for (int at = static_cast<int>(threadIdx.x); at < kElements; at += kThreadsOfBlock) {
        const int line = at / (kPieces * kVec), e = at % (kPieces * kVec);
        const bool inside = line < lines_left && e < length_left;
        T* to = tile + offset(line, e / kVec) + e % kVec;
        const T* source = inside ? from + line * ld + e : from;
        if constexpr (sizeof(T) >= 4)
          copy_async<sizeof(T)>(to, source, inside ? static_cast<int>(sizeof(T)) : 0);
        else
          *to = inside ? *source : T{};
      }
    }
  }
};

// fp32 and fp64 fragments by 16-byte loads. Which k stands where in a product does not matter as long as A
// and B agree: lane (g, t) holds rows 4g..4g+3 of a slab at kVec neighbouring k from kVec * t on, so that
// slot j of a slab is rows 4g+j, g = 0..7, of one m8 (or n8) half of a fragment.
template <class Math, int kRows, bool kAlong>
__device__ inline void load_block(typename Math::T (&v)[4][Math::kVec], const typename Math::T* tile,
                                  int slab, int step) {
  using T = typename Math::T;
  using Layout = Operand<Math, kRows, kAlong>;
  constexpr int kVec = Math::kVec;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  if constexpr (kAlong) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Pack<T> x =
          *reinterpret_cast<const Pack<T>*>(tile + Layout::offset(slab + 4 * g + j, 4 * step + t));
#pragma unroll
      for (int q = 0; q < kVec; ++q) v[j][q] = x.v[q];
    }
  } else {
#pragma unroll
    for (int q = 0; q < kVec; ++q)
#pragma unroll
      for (int i = 0; i < 4 / kVec; ++i) {
        const int k = (4 * step + t) * kVec + q;
        const Pack<T> x =
            *reinterpret_cast<const Pack<T>*>(tile + Layout::offset(k, (slab + 4 * g) / kVec + i));
#pragma unroll
        for (int e = 0; e < kVec; ++e) v[i * kVec + e][q] = x.v[e];
      }
  }
}

// What fp32 and fp64 have in common: the places of load_block. C: slot j of A's slab and j' of B's hold rows
// 4g+j and columns 4 (2t) + j', 4 (2t+1) + j': eight neighbouring columns in one thread.
template <class Element, int kDepthOfTile>
struct BlockMath {
  using T = Element;
  static constexpr int kVec = kPack<T>, kDepth = kDepthOfTile, kSteps = kDepth / (4 * kVec);
  static constexpr bool kNeighbours = true;  // of a thread's columns: see above
  // Two lines of 4 pieces each are read at once (8 lanes): lines 4 apart, so bit 2 of the line picks the
  // half.
  __device__ static int swizzle_along(int row) { return ((row >> 2) & 1) << 2; }
  // Four k, kVec apart, of two pieces each: next to each other in fp32, every other one in fp64.
  __device__ static int swizzle_across(int k) {
    const int t = (k / kVec) & 3;
    return kVec == 4 ? t << 1 : (t & 1) | ((t & 2) << 1);
  }
};

}  // namespace headroom::cuda
