// Memory-bound: dy is read once, and the sums of the blocks are next to nothing. Small tensors take one short
// launch, in which the last block of each tile of channels finishes the others' work.
#include "ops/bias_grad/cuda.h"
#include "ops/cuda/block.cuh"
#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

__device__ unsigned bias_arrivals[BiasSplits::kMaxTiles];

// The sum over the rows of threads of a block that is `width` wide; the first row gets it.
template <int kBlock, class C>
__device__ C column_sum(C x, int width) {
  __shared__ C parts[kBlock];
  __syncthreads();
  parts[threadIdx.x] = x;
  __syncthreads();
  for (int half = kBlock / 2; half >= width; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half)) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[threadIdx.x];
}

// dy[rows, channels]: neighbouring threads take neighbouring channels, so that rows are read whole.
template <class T, int kBlock>
__global__ void __launch_bounds__(kBlock)
    sum_rows(BiasSplits s, std::int64_t rows, std::int64_t channels, const T* dy, Compute<T>* parts, T* db) {
  using C = Compute<T>;
  constexpr int kAtOnce = 8;
  const auto width = static_cast<int>(s.width);
  const std::int64_t tile = blockIdx.x, split = blockIdx.y, channel = tile * width + threadIdx.x % width;
  const int step = kBlock / width;
  const std::int64_t begin = split * s.rows_per_split;
  const std::int64_t end = min(rows, begin + s.rows_per_split);
  C sum = 0;
  if (channel < channels) {
    for (std::int64_t r = begin + threadIdx.x / width; r < end; r += kAtOnce * step) {
      C part[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u)
        part[u] = r + u * step < end ? C{widen(dy[(r + u * step) * channels + channel])} : C{0};
      sum += ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
  }
  sum = column_sum<kBlock>(sum, width);
  const bool first = threadIdx.x < static_cast<unsigned>(width) && channel < channels;
  if (s.splits == 1) {
    if (first) db[channel] = narrow<T>(sum);
    return;
  }
  if (first) parts[split * channels + channel] = sum;
  if (!last_to_arrive(bias_arrivals + tile, static_cast<unsigned>(s.splits))) return;
  sum = 0;
  if (channel < channels)
#pragma unroll 8
    for (std::int64_t k = threadIdx.x / width; k < s.splits; k += step)
      sum += __ldcg(parts + k * channels + channel);
  sum = column_sum<kBlock>(sum, width);
  if (first) db[channel] = narrow<T>(sum);
}

// The elements [0, count) of one channel, an image's plane of `packs` packs after another.
template <class T, int kWide, int kBlock>
__device__ Compute<T> sum_packs(std::int64_t count, std::int64_t packs, std::int64_t skip, const T* dy) {
  using P = Pack<T, kWide>;
  using C = Compute<T>;
  constexpr int kAtOnce = 4;
  C sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kAtOnce * kBlock) {
    P x[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (const std::int64_t at = i + u * kBlock; at < count) {
        const Cut c = cut(at, packs);
        x[u] = reinterpret_cast<const P*>(dy + c.whole * skip)[c.rest];
      }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (i + u * kBlock < count) {
        C part = 0;
#pragma unroll
        for (int k = 0; k < kWide; ++k) part += widen(x[u].v[k]);
        sum += part;
      }
  }
  return sum;
}

// dy[rows, channels, plane]: a block runs through the planes of one channel.
template <class T, int kBlock>
__global__ void __launch_bounds__(kBlock)
    sum_planes(BiasSplits s, std::int64_t rows, std::int64_t channels, std::int64_t plane, bool whole,
               const T* dy, Compute<T>* parts, T* db) {
  using C = Compute<T>;
  const std::int64_t channel = blockIdx.x, split = blockIdx.y, begin = split * s.rows_per_split;
  const std::int64_t images = min(rows - begin, s.rows_per_split), skip = channels * plane;
  const T* from = dy + begin * skip + channel * plane;
  C sum = whole ? sum_packs<T, kPack<T>, kBlock>(images * (plane / kPack<T>), plane / kPack<T>, skip, from)
                : sum_packs<T, 1, kBlock>(images * plane, plane, skip, from);
  sum = block_sum(sum);
  if (s.splits == 1) {
    if (threadIdx.x == 0) db[channel] = narrow<T>(sum);
    return;
  }
  if (threadIdx.x == 0) parts[channel * s.splits + split] = sum;
  if (!last_to_arrive(bias_arrivals + channel, static_cast<unsigned>(s.splits))) return;
  sum = 0;
  for (std::int64_t k = threadIdx.x; k < s.splits; k += kBlock) sum += __ldcg(parts + channel * s.splits + k);
  sum = block_sum(sum);
  if (threadIdx.x == 0) db[channel] = narrow<T>(sum);
}

template <class T, int kBlock>
void launch(const BiasSplits& s, std::int64_t rows, std::int64_t channels, std::int64_t plane, const T* dy,
            Compute<T>* parts, T* db, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(s.tiles), static_cast<unsigned>(s.splits));
  if (plane == 1)
    sum_rows<T, kBlock><<<grid, kBlock, 0, stream>>>(s, rows, channels, dy, parts, db);
  else
    sum_planes<T, kBlock><<<grid, kBlock, 0, stream>>>(s, rows, channels, plane,
                                                       plane % kPack<T> == 0 && aligned(dy), dy, parts, db);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void bias_grad(DType dtype, const BiasSplits& s, std::int64_t rows, std::int64_t channels, std::int64_t plane,
               const void* dy, void* parts, void* db, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const auto* from = static_cast<const T*>(dy);
    auto* scratch = static_cast<Compute<T>*>(parts);
    auto* to = static_cast<T*>(db);
    if (s.threads == 1024)
      launch<T, 1024>(s, rows, channels, plane, from, scratch, to, stream);
    else
      launch<T, 256>(s, rows, channels, plane, from, scratch, to, stream);
  });
}

}  // namespace headroom::cuda
