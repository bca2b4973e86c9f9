#include "ops/cuda/gemm_thin.h"

#include "ops/cuda/cluster.cuh"
#include "ops/cuda/gemm_skinny_rows.cuh"
#include "ops/cuda/mma.cuh"

namespace headroom::cuda {
namespace {

constexpr int kThinWarps = kThinBlockWarps, kThinThreads = 32 * kThinWarps;
// k at a time: 16 bytes of each lane, twice.
constexpr int kThinPacks = 2, kThinChunk = 32 * 4 * kThinPacks;
// A shift of 4 banks from column to column, which may be written side by side.
constexpr int kThinLine = kThinChunk + 4;

// kThinChunk values of k of every column, zeros past the end.
__device__ inline void fill_weights(const SkinnyArgs& args, float* weights, std::int64_t k, std::int64_t k1,
                                    bool whole) {
  const float* const small = static_cast<const float*>(args.small);
  const int columns = static_cast<int>(args.columns);
  if (args.small_k == 1) {
    constexpr int kPieces = kThinChunk / 4;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < columns * kPieces; i += kThinThreads) {
      const int column = i / kPieces, at = i % kPieces * 4;
      *reinterpret_cast<Pack<float>*>(weights + column * kThinLine + at) =
          load_pack(small + column * args.small_row, k + at, k1, whole);
    }
    return;
  }
  const int depth = static_cast<int>(min(std::int64_t{kThinChunk}, k1 - k));
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < columns * kThinChunk; i += kThinThreads) {
    const int at = i / columns, column = i - at * columns;
    weights[column * kThinLine + at] =
        at < depth ? small[(k + at) * args.small_k + column * args.small_row] : 0.0f;
  }
}

// A warp takes kRows rows and its lanes share k; the large operand is asked for one chunk ahead.
template <int kRows, int kS>
__global__ void __launch_bounds__(kThinThreads) thin_rows(SkinnyArgs args, bool whole_small) {
  constexpr int kValues = (kRows * kS + 15) / 16 * 16;
  __shared__ __align__(16) float weights[kS * kThinLine];
  __shared__ float parts[kThinWarps * kRows * kS];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto splits = static_cast<unsigned>(args.splits), rank = blockIdx.x % splits;
  const std::int64_t first_row = std::int64_t{blockIdx.x / splits} * kThinWarps * kRows;
  const std::int64_t k0 = rank * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const float* row[kRows];  // rows past the end read the last one again; nobody stores their sums
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    row[r] = static_cast<const float*>(args.large) +
             min(first_row + warp * kRows + r, args.rows - 1) * args.large_ld;
  Pack<float> ahead[kRows][kThinPacks];
  const auto ask = [&](std::int64_t k) {
#pragma unroll
    for (int j = 0; j < kThinPacks; ++j)
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        ahead[r][j] = load_pack(row[r], k + (j * 32 + lane) * 4, k1, args.whole);
  };

  float sum[kValues] = {};
  ask(k0);
  for (std::int64_t k = k0; k < k1; k += kThinChunk) {
    if (k > k0) __syncthreads();  // who still reads the columns before
    fill_weights(args, weights, k, k1, whole_small);
    Pack<float> x[kRows][kThinPacks];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int j = 0; j < kThinPacks; ++j) x[r][j] = ahead[r][j];
    if (k + kThinChunk < k1) ask(k + kThinChunk);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kThinPacks; ++j)
#pragma unroll
      for (int s = 0; s < kS; ++s) {
        if (s >= args.columns) break;
        const Pack<float> y =
            *reinterpret_cast<const Pack<float>*>(weights + s * kThinLine + (j * 32 + lane) * 4);
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[r * kS + s] += x[r][j].v[e] * y.v[e];
      }
  }
  const int first = sum_over_lanes(sum);
  if (lane % 2 == 0)
#pragma unroll
    for (int i = 0; i < kValues / 16; ++i)
      if (first + i < kRows * kS) parts[warp * kRows * kS + first + i] = sum[i];
  sync_cluster();
  // Each block finishes a share of the values, and adds up the pieces of each in the order of k.
  for (unsigned i = rank * kThinThreads + threadIdx.x; i < kThinWarps * kRows * kS;
       i += splits * kThinThreads) {
    float total = 0;
    for (unsigned piece = 0; piece < splits; ++piece)
      total += load_of_cluster(address_in_cluster(shared_address(parts + i), piece));
    const std::int64_t at = first_row + i / kS;
    const int column = static_cast<int>(i % kS);
    if (at < args.rows && column < args.columns) finish_skinny<float>(args, at, column, total);
  }
  sync_cluster();  // nobody leaves while others read its shared memory
}

// kSliceDepth values of k of every column, zeros past the end, by one warp for itself. `flat`: they follow
// one another, all columns of one k before those of the next.
constexpr int kSliceDepth = 32 * 4, kSliceLine = kSliceDepth + 4;

template <int kS>
__device__ inline void fill_slice(const SkinnyArgs& args, float* weights, std::int64_t k, int depth,
                                  bool flat) {
  const int lane = static_cast<int>(threadIdx.x) % 32, columns = static_cast<int>(args.columns);
  const int count = depth * columns;
  // Exact division by up to 16 of numbers below 2^11.
  const unsigned inverse = (65536u + static_cast<unsigned>(columns) - 1) / static_cast<unsigned>(columns);
  const auto put = [&](int i, float value) {
    const int at = static_cast<int>(static_cast<unsigned>(i) * inverse >> 16);
    weights[(i - at * columns) * kSliceLine + at] = value;
  };
  const float* const small = static_cast<const float*>(args.small) + k * args.small_k;
  int from = 0;
  if (flat) {
    Pack<float> ahead[kS];
#pragma unroll
    for (int j = 0; j < kS; ++j)
      if ((j * 32 + lane) * 4 + 4 <= count)
        ahead[j] = reinterpret_cast<const Pack<float>*>(small)[j * 32 + lane];
#pragma unroll
    for (int j = 0; j < kS; ++j)
      if ((j * 32 + lane) * 4 + 4 <= count)
#pragma unroll
        for (int e = 0; e < 4; ++e) put((j * 32 + lane) * 4 + e, ahead[j].v[e]);
    from = count / 4 * 4;
  }
#pragma unroll 4
  for (int i = from + lane; i < count; i += 32) {
    const int at = static_cast<int>(static_cast<unsigned>(i) * inverse >> 16);
    put(i, small[at * args.small_k + (i - at * columns) * args.small_row]);
  }
  for (int at = depth + lane; at < kSliceDepth; at += 32)
    for (int c = 0; c < columns; ++c) weights[c * kSliceLine + at] = 0;
}

// A block takes kRows rows and its warps share k. A warp asks for all that it needs of both operands at once,
// and waits for no other before the sums meet.
template <int kRows, int kS>
__global__ void __launch_bounds__(kThinThreads) thin_slices(SkinnyArgs args, bool whole_small, bool flat) {
  constexpr int kValues = (kRows * kS + 15) / 16 * 16;
  extern __shared__ __align__(16) float lines[];  // of each warp: the columns at its k
  __shared__ float parts[kThinWarps][kValues];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto columns = static_cast<int>(args.columns);
  float* const weights = lines + warp * columns * kSliceLine;
  const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows;
  const std::int64_t k0 = warp * args.k_per_split, k1 = min(args.k, k0 + args.k_per_split);
  const float* const small = static_cast<const float*>(args.small);
  const float* row[kRows];  // rows past the end read the last one again; nobody stores their sums
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    row[r] = static_cast<const float*>(args.large) + min(first_row + r, args.rows - 1) * args.large_ld;

  float sum[kValues] = {};
  for (std::int64_t k = k0; k < k1; k += kSliceDepth) {
    Pack<float> x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) x[r] = load_pack(row[r], k + lane * 4, k1, args.whole);
    if (args.small_k != 1) {
      __syncwarp();  // who still reads the columns before
      fill_slice<kS>(args, weights, k, static_cast<int>(min(std::int64_t{kSliceDepth}, k1 - k)), flat);
      __syncwarp();
    }
#pragma unroll
    for (int s = 0; s < kS; ++s) {
      if (s >= columns) break;
      const Pack<float> y = args.small_k == 1
                                ? load_pack(small + s * args.small_row, k + lane * 4, k1, whole_small)
                                : *reinterpret_cast<const Pack<float>*>(weights + s * kSliceLine + lane * 4);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[r * kS + s] += x[r].v[e] * y.v[e];
    }
  }
  const int first = sum_over_lanes(sum);
  if (lane % 2 == 0)
#pragma unroll
    for (int i = 0; i < kValues / 16; ++i) parts[warp][first + i] = sum[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kS; i += kThinThreads) {
    float total = 0;
#pragma unroll
    for (int w = 0; w < kThinWarps; ++w) total += parts[w][i];
    const std::int64_t at = first_row + i / kS;
    if (at < args.rows && i % kS < columns) finish_skinny<float>(args, at, i % kS, total);
  }
}

template <int kRows, int kS>
void launch_slices(const SkinnyArgs& args, cudaStream_t stream) {
  const bool along = args.small_k == 1;
  const std::size_t bytes = along ? 0 : sizeof(float) * kThinWarps * kSliceLine * std::size_t(args.columns);
  const auto kernel = thin_slices<kRows, kS>;
  if (bytes > 0)
    HEADROOM_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const bool whole_small = args.small_row % 4 == 0 && aligned(args.small) && args.k % 4 == 0;
  const bool flat = args.small_row == 1 && args.small_k == args.columns && aligned(args.small);
  kernel<<<static_cast<unsigned>(tiles_of(args.rows, kRows)), kThinThreads, bytes, stream>>>(
      args, whole_small, flat);
  HEADROOM_CUDA_LAUNCHED();
}

template <int kRows>
void launch_columns_in_slices(const SkinnyArgs& args, cudaStream_t stream) {
  if (args.columns <= 4) return launch_slices<kRows, 4>(args, stream);
  if (args.columns <= 12) return launch_slices<kRows, 12>(args, stream);
  launch_slices<4, 16>(args, stream);  // as far as registers reach
}

template <int kRows, int kS>
void launch_thin(const SkinnyArgs& args, cudaStream_t stream) {
  const std::int64_t groups = tiles_of(args.rows, kThinWarps * kRows);
  const bool whole_small =
      args.small_k == 1 && args.small_row % 4 == 0 && aligned(args.small) && args.k % 4 == 0;
  launch_in_clusters(thin_rows<kRows, kS>, {groups * args.splits, kThinThreads, 0, args.splits}, stream, args,
                     whole_small);
}

template <int kRows>
void launch_columns(const SkinnyArgs& args, cudaStream_t stream) {
  if (args.columns <= 4) return launch_thin<kRows, 4>(args, stream);
  if (args.columns <= 12) return launch_thin<kRows, 12>(args, stream);  // ten classes
  launch_thin<kRows, 16>(args, stream);
}

}  // namespace

void thin(int rows_of_warp, const SkinnyArgs& args, cudaStream_t stream) {
  switch (rows_of_warp) {
    case 1:
      return launch_columns<1>(args, stream);
    case 2:
      return launch_columns<2>(args, stream);
    case 3:
      return launch_columns<3>(args, stream);
    default:
      return launch_columns<4>(args, stream);
  }
}

void thin_in_slices(int rows_of_block, const SkinnyArgs& args, cudaStream_t stream) {
  if (rows_of_block == 4) return launch_columns_in_slices<4>(args, stream);
  launch_columns_in_slices<8>(args, stream);
}

}  // namespace headroom::cuda
