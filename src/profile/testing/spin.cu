#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"
#include "profile/testing/spin.h"

namespace headroom::testing {
namespace {

__device__ long long now() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void spin_for(long long ns) {
  const long long end = now() + ns;
  while (now() < end) {
  }
}

}  // namespace

void spin(Stream& stream, std::int64_t ns) {
  spin_for<<<1, 32, 0, static_cast<CudaStream&>(stream).handle()>>>(ns);
  HEADROOM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace headroom::testing
