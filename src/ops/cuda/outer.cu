// Bound by memory: c is written and y read once; the factors are next to nothing. A block takes 32 rows of c
// and up to 128 columns (64 in fp64), with both factors' share in shared memory.
#include "ops/cuda/finish.cuh"
#include "ops/cuda/outer.h"

namespace headroom::cuda {
namespace {

constexpr int kRows = 4;       // of a thread
constexpr int kNarrowest = 8;  // threads along a row: sets how many rows there can be
template <class T>
constexpr int kColumns = sizeof(T) == 8 ? 2 : 4;  // of a thread
// Of a row of B in shared memory: packs stay whole, and columns fall into different banks.
template <class T>
constexpr int kOuterLine = 33 * kColumns<T>;

// Element (line, k) for `lines` lines, a power of two, of which `have` exist; what is missing is 0.
template <int kK, class T, class At>
__device__ void stage(const T* from, int lines, std::int64_t have, int k, std::int64_t line_step,
                      std::int64_t k_step, At&& at) {
  const auto count = static_cast<unsigned>(lines * kK), side = static_cast<unsigned>(lines);
  for (unsigned i = threadIdx.x; i < count; i += kThreads) {
    // Neighbouring threads read neighbouring elements.
    const unsigned line = k_step == 1 ? i / kK : i & (side - 1), term = k_step == 1 ? i % kK : i / side;
    const bool inside = line < have && static_cast<int>(term) < k;
    at(line, term) = inside ? Compute<T>{widen(from[line * line_step + term * k_step])} : Compute<T>{0};
  }
}

template <class C>
__device__ C times_slope(Activation slope, C dy, C y) {
  if (slope == Activation::relu) return y > C{0} ? dy : C{0};
  return dy * (slope == Activation::sigmoid ? y * (C{1} - y) : C{1} - y * y);
}

template <class T>
struct OuterPlace {
  T* c;
  const T* y;
  std::int64_t column;
  int left;  // columns from there on that exist
};

template <class T>
__device__ Pack<T, kColumns<T>> load_slope(const OuterArgs& args, const OuterPlace<T>& at, std::int64_t row) {
  Pack<T, kColumns<T>> y{};
  if (args.y == nullptr || row >= args.m || at.left <= 0) return y;
  const T* from = at.y + row * args.ldc + at.column;
  if (args.whole) return *reinterpret_cast<const Pack<T, kColumns<T>>*>(from);
#pragma unroll
  for (int e = 0; e < kColumns<T>; ++e)
    if (e < at.left) y.v[e] = from[e];
  return y;
}

template <class T>
__device__ void store_row(const OuterArgs& args, const OuterPlace<T>& at, std::int64_t row,
                          Compute<T> (&x)[kColumns<T>], const Pack<T, kColumns<T>>& y) {
  if (row >= args.m || at.left <= 0) return;
  finish_values(args.finish, x);
  Pack<T, kColumns<T>> pack;
#pragma unroll
  for (int e = 0; e < kColumns<T>; ++e)
    pack.v[e] = narrow<T>(args.y == nullptr ? x[e] : times_slope(args.slope, x[e], widen(y.v[e])));
  T* to = at.c + row * args.ldc + at.column;
  if (args.whole) {
    *reinterpret_cast<Pack<T, kColumns<T>>*>(to) = pack;
    return;
  }
#pragma unroll
  for (int e = 0; e < kColumns<T>; ++e)
    if (e < at.left) to[e] = pack.v[e];
}

template <class T, int kK>
__global__ void __launch_bounds__(kThreads) short_sums(OuterArgs args) {
  using C = Compute<T>;
  constexpr int kN = kColumns<T>;
  __shared__ __align__(16) C left[kThreads / kNarrowest * kRows][kK];
  __shared__ __align__(16) C right[kK][kOuterLine<T>];
  const int lane = static_cast<int>(threadIdx.x) % args.width,
            group = static_cast<int>(threadIdx.x) / args.width;
  const int groups = kThreads / args.width, rows = groups * kRows;
  const std::int64_t batch = blockIdx.z, first = std::int64_t{blockIdx.x} * args.width * kN;
  const std::int64_t column = first + lane * kN;
  const OuterPlace<T> at{static_cast<T*>(args.c) + batch * args.stride_c,
                         static_cast<const T*>(args.y) + batch * args.stride_c, column,
                         static_cast<int>(min(std::int64_t{kN}, args.n - column))};
  const T* const a = static_cast<const T*>(args.a) + batch * args.stride_a;
  const T* const b = static_cast<const T*>(args.b) + batch * args.stride_b + first * args.b_column;
  stage<kK>(b, args.width * kN, args.n - first, args.k, args.b_column, args.b_k,
            [&](unsigned line, unsigned k) -> C& { return right[k][line]; });
  C bias[kN] = {};
  if (args.bias != nullptr)
#pragma unroll
    for (int e = 0; e < kN; ++e)
      if (e < at.left) bias[e] = widen(static_cast<const T*>(args.bias)[column + e]);

  for (std::int64_t tile = blockIdx.y; tile < args.row_tiles; tile += gridDim.y) {
    const std::int64_t row0 = tile * rows;
    __syncthreads();  // who still reads the rows before
    stage<kK>(a + row0 * args.a_row, rows, args.m - row0, args.k, args.a_row, args.a_k,
              [&](unsigned line, unsigned k) -> C& { return left[line][k]; });
    Pack<T, kN> y[kRows];  // under way while the others arrive
#pragma unroll
    for (int r = 0; r < kRows; ++r) y[r] = load_slope(args, at, row0 + group + r * groups);
    __syncthreads();
    C sum[kRows][kN] = {};
#pragma unroll
    for (int k = 0; k < kK; k += 2) {
      Pack<C, 2> x[kRows];
      Pack<C, kN> w[2];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        x[r] = *reinterpret_cast<const Pack<C, 2>*>(&left[group + r * groups][k]);
#pragma unroll
      for (int u = 0; u < 2; ++u) w[u] = *reinterpret_cast<const Pack<C, kN>*>(&right[k + u][lane * kN]);
#pragma unroll
      for (int u = 0; u < 2; ++u)
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
          for (int e = 0; e < kN; ++e) sum[r][e] += x[r].v[u] * w[u].v[e];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int e = 0; e < kN; ++e) sum[r][e] += bias[e];
      store_row(args, at, row0 + group + r * groups, sum[r], y[r]);
    }
  }
}

template <class T>
void launch(OuterArgs args, cudaStream_t stream) {
  constexpr std::int64_t kMaxBlocks = 4096;  // then blocks take several tiles, and their columns once
  const std::int64_t packs = (args.n + kColumns<T> - 1) / kColumns<T>;
  args.width = packs <= kNarrowest ? kNarrowest : packs <= 16 ? 16 : 32;
  args.whole = args.whole && args.n % kColumns<T> == 0;
  const std::int64_t rows = kThreads / args.width * kRows, tiles = (packs + args.width - 1) / args.width;
  args.row_tiles = (args.m + rows - 1) / rows;
  const std::int64_t share = kMaxBlocks / (tiles * args.batch), down = share < 1 ? 1 : share;
  const dim3 grid(static_cast<unsigned>(tiles),
                  static_cast<unsigned>(down < args.row_tiles ? down : args.row_tiles),
                  static_cast<unsigned>(args.batch));
  if (args.k <= 4)
    short_sums<T, 4><<<grid, kThreads, 0, stream>>>(args);
  else if (args.k <= 10)  // ten classes
    short_sums<T, 10><<<grid, kThreads, 0, stream>>>(args);
  else
    short_sums<T, 16><<<grid, kThreads, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void outer(DType dtype, OuterArgs args, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() { launch<T>(args, stream); });
}

}  // namespace headroom::cuda
