// Rows are a vector of 16 bytes on the wider side, which a thread reads or writes at once; on the other side
// the rows of a warp are a run of memory.
#include "ops/conv2d/cuda.h"
#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

// The wider side has kWide elements in a row; pointers to it are aligned to 16 bytes.
template <class T, int kWide, bool kWiden>
__global__ void __launch_bounds__(kThreads) resize_rows(std::int64_t rows, int narrow, const T* x, T* y) {
  struct alignas(16) Row {
    T element[kWide];
  };
  for (std::int64_t row = thread_number(); row < rows; row += std::int64_t{gridDim.x} * kThreads) {
    Row wide;
    if constexpr (!kWiden) wide = reinterpret_cast<const Row*>(x)[row];
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      if constexpr (kWiden)
        wide.element[i] = i < narrow ? x[row * narrow + i] : T{0};
      else if (i < narrow)
        y[row * narrow + i] = wide.element[i];
    }
    if constexpr (kWiden) reinterpret_cast<Row*>(y)[row] = wide;
  }
}

template <class T>
void launch(std::int64_t rows, int from, int to, const void* x, void* y, cudaStream_t stream) {
  constexpr int kWide = 16 / sizeof(T);
  const unsigned blocks = blocks_striding(rows);
  const auto* in = static_cast<const T*>(x);
  auto* out = static_cast<T*>(y);
  if (to == kWide)
    resize_rows<T, kWide, true><<<blocks, kThreads, 0, stream>>>(rows, from, in, out);
  else
    resize_rows<T, kWide, false><<<blocks, kThreads, 0, stream>>>(rows, to, in, out);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

// Elements are moved, not computed with: their size is all that counts.
void conv2d_resize_rows(DType dtype, std::int64_t rows, int from, int to, const void* x, void* y,
                        cudaStream_t stream) {
  if (dtype == DType::f32)
    launch<std::uint32_t>(rows, from, to, x, y, stream);
  else
    launch<std::uint16_t>(rows, from, to, x, y, stream);
}

}  // namespace headroom::cuda
