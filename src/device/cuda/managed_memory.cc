#include "device/cuda/managed_memory.h"

#include "base/error.h"
#include "base/units.h"
#include "device/cuda/check.h"

namespace headroom {
namespace {

bool has(const CudaDevice& device, cudaDeviceAttr attribute) {
  int value = 0;
  HEADROOM_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device.index()));
  return value != 0;
}

// CUDA 13 names a place by a struct, earlier versions by a number.
#if CUDART_VERSION >= 13000
void prefetch(const void* data, std::size_t bytes, cudaMemLocationType type, int index, cudaStream_t stream) {
  const cudaMemLocation place{type, index};
  HEADROOM_CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, place, 0, stream));
}
void prefetch_device(const void* data, std::size_t bytes, int index, cudaStream_t stream) {
  prefetch(data, bytes, cudaMemLocationTypeDevice, index, stream);
}
void prefetch_host(const void* data, std::size_t bytes, cudaStream_t stream) {
  prefetch(data, bytes, cudaMemLocationTypeHost, 0, stream);
}
#else
void prefetch_device(const void* data, std::size_t bytes, int index, cudaStream_t stream) {
  HEADROOM_CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, index, stream));
}
void prefetch_host(const void* data, std::size_t bytes, cudaStream_t stream) {
  HEADROOM_CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, cudaCpuDeviceId, stream));
}
#endif

}  // namespace

ManagedMemory::ManagedMemory(CudaDevice& device, std::size_t bytes)
    : device_(device), bytes_(align_up(bytes)) {
  const std::size_t free = device.free_bytes_now();
  if (bytes_ > free)
    reject(Hint{fmt::format("at most {} fit", human_bytes(double(free)))},
           "{} of managed memory are more than {} has free", human_bytes(double(bytes_)),
           device.capabilities().name);
  HEADROOM_CUDA_CHECK(cudaMallocManaged(&data_, bytes_, cudaMemAttachGlobal));
}

ManagedMemory::~ManagedMemory() {
  cudaStreamSynchronize(static_cast<CudaStream&>(device_.stream()).handle());  // nothing may still use it
  cudaFree(data_);
}

void ManagedMemory::prefetch_to_device() {
  prefetch_device(data_, bytes_, device_.index(), static_cast<CudaStream&>(device_.stream()).handle());
}

void ManagedMemory::prefetch_to_host() {
  prefetch_host(data_, bytes_, static_cast<CudaStream&>(device_.stream()).handle());
}

const char* why_no_managed(const CudaDevice& device) {
  return has(device, cudaDevAttrManagedMemory) ? "" : "this GPU has no managed memory";
}

const char* why_no_prefetch(const CudaDevice& device) {
  return has(device, cudaDevAttrConcurrentManagedAccess)
             ? ""
             : "this GPU and its driver cannot prefetch managed memory";
}

}  // namespace headroom
