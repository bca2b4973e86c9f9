#include "ops/cuda/index.cuh"
#include "ops/integer_product/cuda.h"

namespace headroom::cuda {
namespace {

constexpr int kColumns = 32, kRows = 8;  // of a block: a thread for each result

// Both factors are read as signed bytes: unsigned ones and their zero points are 128 less.
__device__ inline int byte_at(const void* bytes, bool is_signed, std::int64_t i) {
  const int byte = static_cast<const std::uint8_t*>(bytes)[i];
  return is_signed ? static_cast<std::int8_t>(byte) : byte - 128;
}
__device__ inline int zero_at(const Bytes& f, std::int64_t line) {
  return byte_at(f.zeros, f.is_signed, f.zero_each ? line : 0);
}

// Four terms in one register, from places `step` apart; terms that do not exist are 0.
__device__ inline int four_at(const Bytes& f, std::int64_t first, std::int64_t step, int count) {
  unsigned four = 0;
#pragma unroll
  for (int t = 0; t < 4; ++t)
    if (t < count)
      four |= (static_cast<unsigned>(byte_at(f.data, f.is_signed, first + t * step)) & 0xFFU) << (8 * t);
  return static_cast<int>(four);
}

// Sums over terms of one row and one column, modulo 2^32.
struct Sums {
  int ab, a, b;
  __device__ void add(int left, int right) {
    constexpr int kOnes = 0x01010101;
    ab = __dp4a(left, right, ab), a = __dp4a(left, kOnes, a), b = __dp4a(right, kOnes, b);
  }
};

// Terms `first` to `first` + 3, and so on every `step` terms. Loads of several rounds are on their way at
// once: nothing depends on what is left of k but the last one.
__device__ inline Sums sum_terms(const Bytes& a, const Bytes& b, std::int64_t row, std::int64_t column,
                                 std::int64_t n, std::int64_t k, std::int64_t first, std::int64_t step) {
  Sums sums{};
  std::int64_t t = first;
#pragma unroll 4
  for (; t + 4 <= k; t += step) sums.add(four_at(a, row * k + t, 1, 4), four_at(b, t * n + column, n, 4));
  if (t < k) {
    const int count = static_cast<int>(k - t);
    sums.add(four_at(a, row * k + t, 1, count), four_at(b, t * n + column, n, count));
  }
  return sums;
}

// sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb.
__device__ inline std::int32_t without_zeros(const Sums& sums, const Bytes& a, const Bytes& b,
                                             std::int64_t row, std::int64_t column, std::int64_t k) {
  const auto za = static_cast<unsigned>(zero_at(a, row)), zb = static_cast<unsigned>(zero_at(b, column));
  return static_cast<std::int32_t>(static_cast<unsigned>(sums.ab) - zb * static_cast<unsigned>(sums.a) -
                                   za * static_cast<unsigned>(sums.b) + static_cast<unsigned>(k) * za * zb);
}

__global__ void __launch_bounds__(kColumns* kRows)
    dots(std::int64_t m, std::int64_t n, std::int64_t k, Bytes a, Bytes b, std::int32_t* c) {
  const std::int64_t j = std::int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (j >= n) return;
  for (std::int64_t i = std::int64_t{blockIdx.y} * kRows + threadIdx.y; i < m;
       i += std::int64_t{gridDim.y} * kRows)
    c[i * n + j] = without_zeros(sum_terms(a, b, i, j, n, k, 0, 4), a, b, i, j, k);
}

// For fewer rows than a block has: eight threads share the terms of a result.
__global__ void __launch_bounds__(kColumns* kRows)
    shared_dots(std::int64_t n, std::int64_t k, Bytes a, Bytes b, std::int32_t* c) {
  __shared__ Sums parts[kRows][kColumns];
  const std::int64_t i = blockIdx.y, j = std::int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (j < n) parts[threadIdx.y][threadIdx.x] = sum_terms(a, b, i, j, n, k, 4 * threadIdx.y, 4 * kRows);
  __syncthreads();
  if (threadIdx.y > 0 || j >= n) return;
  const auto added = [](int x, int y) { return static_cast<int>(unsigned(x) + unsigned(y)); };
  Sums sums{};
  for (int part = 0; part < kRows; ++part) {
    const Sums& more = parts[part][threadIdx.x];
    sums = {added(sums.ab, more.ab), added(sums.a, more.a), added(sums.b, more.b)};
  }
  c[i * n + j] = without_zeros(sums, a, b, i, j, k);
}

__global__ void __launch_bounds__(kThreads) direct(IntegerConvolution s, Bytes x, Bytes w, std::int32_t* y) {
  const Window2d& win = s.window;
  const std::int64_t plane = win.output.h * win.output.w, channels = s.channels / s.groups;
  const std::int64_t total = s.batch * s.maps * plane, taps = win.kernel.h * win.kernel.w;
  for (std::int64_t i = thread_number(); i < total; i += thread_count()) {
    const Cut image = cut(i, plane), pixel = cut(image.rest, win.output.w), map = cut(image.whole, s.maps);
    const std::int64_t first = map.whole * s.channels + map.rest / (s.maps / s.groups) * channels;
    const int zx = zero_at(x, 0), zw = zero_at(w, map.rest);
    unsigned sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t ih = pixel.whole * win.stride.h - win.pad.h + tap / win.kernel.w * win.dilation.h;
      const std::int64_t iw = pixel.rest * win.stride.w - win.pad.w + tap % win.kernel.w * win.dilation.w;
      if (ih < 0 || ih >= win.input.h || iw < 0 || iw >= win.input.w) continue;
      for (std::int64_t k = 0; k < channels; ++k) {
        const std::int64_t from = ((first + k) * win.input.h + ih) * win.input.w + iw;
        const std::int64_t weight = (map.rest * channels + k) * taps + tap;
        sum += static_cast<unsigned>((byte_at(x.data, x.is_signed, from) - zx) *
                                     (byte_at(w.data, w.is_signed, weight) - zw));
      }
    }
    y[i] = static_cast<std::int32_t>(sum);
  }
}

}  // namespace

void integer_product(std::int64_t m, std::int64_t n, std::int64_t k, const Bytes& a, const Bytes& b,
                     std::int32_t* c, cudaStream_t stream) {
  constexpr std::int64_t kMaxBlocks = 65535;  // down
  const std::int64_t down = (m + kRows - 1) / kRows;
  const auto across = static_cast<unsigned>((n + kColumns - 1) / kColumns);
  const dim3 threads(kColumns, kRows);
  if (m < kRows)
    shared_dots<<<dim3(across, static_cast<unsigned>(m)), threads, 0, stream>>>(n, k, a, b, c);
  else
    dots<<<dim3(across, static_cast<unsigned>(down < kMaxBlocks ? down : kMaxBlocks)), threads, 0, stream>>>(
        m, n, k, a, b, c);
  HEADROOM_CUDA_LAUNCHED();
}

void integer_convolution(const IntegerConvolution& s, const Bytes& x, const Bytes& w, std::int32_t* y,
                         cudaStream_t stream) {
  const std::int64_t results = s.batch * s.maps * s.window.output.h * s.window.output.w;
  direct<<<blocks_striding(results), kThreads, 0, stream>>>(s, x, w, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
