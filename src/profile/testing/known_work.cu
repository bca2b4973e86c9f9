#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"
#include "profile/testing/known_work.h"

namespace headroom::testing {
namespace {

// Assembly: the compiler neither leaves it out nor makes anything else of it.
__device__ float fma_once(float a, float b, float c) {
  float result;
  asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}

__global__ void axpy_elements(float a, const float* x, float* y) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  y[i] = fma_once(a, x[i], y[i]);
}

__global__ void fma_chain(int lanes, float* out) {
  if (static_cast<int>(threadIdx.x % 32) >= lanes) return;
  float value = static_cast<float>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < kFmasPerLane; ++i) value = fma_once(value, 0.5f, 1.0f);
  if (value < 0) out[0] = value;  // never
}

cudaStream_t handle_of(Stream& stream) { return static_cast<CudaStream&>(stream).handle(); }

}  // namespace

void axpy(Stream& stream, std::int64_t count, float a, const float* x, float* y) {
  constexpr int kThreads = 1024;
  axpy_elements<<<static_cast<unsigned>(count / kThreads), kThreads, 0, handle_of(stream)>>>(a, x, y);
  HEADROOM_CUDA_CHECK(cudaGetLastError());
}

void fma_in_lanes(Stream& stream, int blocks, int lanes, float* out) {
  fma_chain<<<static_cast<unsigned>(blocks), 256, 0, handle_of(stream)>>>(lanes, out);
  HEADROOM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace headroom::testing
