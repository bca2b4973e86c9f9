#include "ops/cuda/copy.h"

#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

constexpr int kTile = 32, kHigh = kThreads / kTile;

std::int64_t numel_of(const BoxCopy& copy) {
  std::int64_t n = 1;
  for (int a = 0; a < copy.rank; ++a) n *= copy.extent[a];
  return n;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    copy_elements(BoxCopy copy, std::int64_t n, const T* from, T* to) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    std::int64_t left = i, at = copy.from_offset, there = copy.to_offset;
    for (int a = copy.rank - 1; a > 0; --a) {
      const Cut index = cut(left, copy.extent[a]);
      at += index.rest * copy.from[a], there += index.rest * copy.to[a];
      left = index.whole;
    }
    to[there + left * copy.to[0]] = from[at + left * copy.from[0]];
  }
}

// Axis rank - 1 has a step of 1 in `to`, axis rank - 2 in `from`. Tiles of 32 by 32 are read along the one
// and written along the other; a column more keeps the threads of a warp in different banks.
template <class T>
__global__ void __launch_bounds__(kThreads) copy_tiles(BoxCopy copy, std::int64_t tiles, std::int64_t across,
                                                       std::int64_t down, const T* from, T* to) {
  __shared__ T tile[kTile][kTile + 1];
  const int last = copy.rank - 1, side = threadIdx.x % kTile, high = threadIdx.x / kTile;
  const std::int64_t width = copy.extent[last], height = copy.extent[last - 1];
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    Cut index = cut(t, across);
    const std::int64_t column = index.rest * kTile;  // in axis `last`
    index = cut(index.whole, down);
    const std::int64_t row = index.rest * kTile;
    std::int64_t left = index.whole, at = copy.from_offset, there = copy.to_offset;
    for (int a = last - 2; a >= 0; --a) {
      index = cut(left, copy.extent[a]);
      at += index.rest * copy.from[a], there += index.rest * copy.to[a];
      left = index.whole;
    }
    if (row + side < height)
#pragma unroll
      for (int h = high; h < kTile; h += kHigh)
        if (column + h < width) tile[h][side] = from[at + row + side + (column + h) * copy.from[last]];
    __syncthreads();
    if (column + side < width)
#pragma unroll
      for (int h = high; h < kTile; h += kHigh)
        if (row + h < height) to[there + column + side + (row + h) * copy.to[last - 1]] = tile[side][h];
    __syncthreads();
  }
}

// The largest power of two up to 16 that divides all of the numbers given, in bytes.
class Unit {
 public:
  explicit Unit(int element_bytes) : element_(element_bytes) {}
  void elements(std::int64_t n) { bits_ |= static_cast<unsigned long long>(n * element_); }
  void address(const void* p) { bits_ |= reinterpret_cast<unsigned long long>(p); }
  // In elements.
  int length() const {
    int bytes = 16;
    while (bytes > element_ && bits_ % bytes != 0) bytes /= 2;
    return bytes / element_;
  }

 private:
  int element_;
  unsigned long long bits_ = 0;
};

// The same box in units of several elements, where its last axis is a run of neighbours in both layouts.
int widen_runs(int element_bytes, BoxCopy& copy, const void* from, const void* to) {
  const int last = copy.rank - 1;
  if (copy.from[last] != 1 || copy.to[last] != 1) return 1;
  Unit unit(element_bytes);
  unit.address(from), unit.address(to);
  unit.elements(copy.extent[last]), unit.elements(copy.from_offset), unit.elements(copy.to_offset);
  for (int a = 0; a < last; ++a) unit.elements(copy.from[a]), unit.elements(copy.to[a]);
  const int n = unit.length();
  copy.extent[last] /= n, copy.from_offset /= n, copy.to_offset /= n;
  for (int a = 0; a < last; ++a) copy.from[a] /= n, copy.to[a] /= n;
  return n;
}

template <class F>
void dispatch_units(int bytes, F&& f) {
  if (bytes == 16) return f.template operator()<uint4>();
  dispatch_sizes(bytes, f);
}

template <class T, bool kJoin>
__global__ void __launch_bounds__(kThreads) move_pieces(RowPieces p, T* whole) {
  const RowPieces::Piece piece = p.piece[blockIdx.y];
  T* part = static_cast<T*>(piece.data);
  const std::int64_t n = p.rows * piece.length;
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const Cut at = cut(i, piece.length);
    T* place = whole + at.whole * p.row + piece.at + at.rest;
    if constexpr (kJoin)
      *place = part == nullptr ? T{} : part[i];
    else
      part[i] = *place;
  }
}

template <bool kJoin>
void move(int element_bytes, RowPieces p, void* whole, cudaStream_t stream) {
  Unit unit(element_bytes);
  unit.address(whole), unit.elements(p.row);
  std::int64_t most = 0;
  for (int i = 0; i < p.count; ++i) {
    unit.address(p.piece[i].data), unit.elements(p.piece[i].at), unit.elements(p.piece[i].length);
    if (p.piece[i].length > most) most = p.piece[i].length;
  }
  const int n = unit.length();
  p.row /= n;
  for (int i = 0; i < p.count; ++i) p.piece[i].at /= n, p.piece[i].length /= n;
  const dim3 grid(blocks_striding(p.rows * most / n), static_cast<unsigned>(p.count));
  dispatch_units(element_bytes * n, [&]<class T>() {
    move_pieces<T, kJoin><<<grid, kThreads, 0, stream>>>(p, static_cast<T*>(whole));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace

void copy_box(int element_bytes, const BoxCopy& given, const void* from, void* to, cudaStream_t stream) {
  BoxCopy copy = given;
  if (copy.crosswise) {
    const int last = copy.rank - 1;
    const std::int64_t across = (copy.extent[last] + kTile - 1) / kTile,
                       down = (copy.extent[last - 1] + kTile - 1) / kTile;
    std::int64_t tiles = across * down;
    for (int a = 0; a < last - 1; ++a) tiles *= copy.extent[a];
    dispatch_sizes(element_bytes, [&]<class T>() {
      copy_tiles<<<blocks_for(tiles, 1), kThreads, 0, stream>>>(
          copy, tiles, across, down, static_cast<const T*>(from), static_cast<T*>(to));
      HEADROOM_CUDA_LAUNCHED();
    });
    return;
  }
  const int unit = widen_runs(element_bytes, copy, from, to);
  const std::int64_t n = numel_of(copy);
  dispatch_units(element_bytes * unit, [&]<class T>() {
    copy_elements<<<blocks_striding(n), kThreads, 0, stream>>>(copy, n, static_cast<const T*>(from),
                                                               static_cast<T*>(to));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void join_pieces(int element_bytes, const RowPieces& pieces, void* whole, cudaStream_t stream) {
  move<true>(element_bytes, pieces, whole, stream);
}
void cut_pieces(int element_bytes, const RowPieces& pieces, const void* whole, cudaStream_t stream) {
  move<false>(element_bytes, pieces, const_cast<void*>(whole), stream);  // read there, not written
}

}  // namespace headroom::cuda
