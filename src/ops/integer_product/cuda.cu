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

// sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb. Sums wrap around: they are unsigned.
__global__ void __launch_bounds__(kColumns* kRows)
    dots(std::int64_t m, std::int64_t n, std::int64_t k, Bytes a, Bytes b, std::int32_t* c) {
  const std::int64_t j = std::int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (j >= n) return;
  constexpr int kOnes = 0x01010101;
  for (std::int64_t i = std::int64_t{blockIdx.y} * kRows + threadIdx.y; i < m;
       i += std::int64_t{gridDim.y} * kRows) {
    int sum = 0, sum_a = 0, sum_b = 0;
    for (std::int64_t t = 0; t < k; t += 4) {
      const int count = k - t < 4 ? static_cast<int>(k - t) : 4;
      const int left = four_at(a, i * k + t, 1, count), right = four_at(b, t * n + j, n, count);
      sum = __dp4a(left, right, sum);
      sum_a = __dp4a(left, kOnes, sum_a);
      sum_b = __dp4a(right, kOnes, sum_b);
    }
    const unsigned za = static_cast<unsigned>(zero_at(a, i)), zb = static_cast<unsigned>(zero_at(b, j));
    c[i * n + j] =
        static_cast<std::int32_t>(static_cast<unsigned>(sum) - zb * static_cast<unsigned>(sum_a) -
                                  za * static_cast<unsigned>(sum_b) + static_cast<unsigned>(k) * za * zb);
  }
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
  const dim3 blocks(static_cast<unsigned>((n + kColumns - 1) / kColumns),
                    static_cast<unsigned>(down < kMaxBlocks ? down : kMaxBlocks));
  dots<<<blocks, dim3(kColumns, kRows), 0, stream>>>(m, n, k, a, b, c);
  HEADROOM_CUDA_LAUNCHED();
}

void integer_convolution(const IntegerConvolution& s, const Bytes& x, const Bytes& w, std::int32_t* y,
                         cudaStream_t stream) {
  const std::int64_t results = s.batch * s.maps * s.window.output.h * s.window.output.w;
  direct<<<blocks_striding(results), kThreads, 0, stream>>>(s, x, w, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
