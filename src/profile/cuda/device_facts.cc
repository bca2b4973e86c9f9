#include "profile/cuda/device_facts.h"

#include "base/error.h"
#include "device/cuda/cuda_device.h"

namespace headroom {
namespace {

// Attributes, not cudaDeviceProp: its fields come and go with the versions of CUDA.
class GpuAttributes {
 public:
  explicit GpuAttributes(int device) : device_(device) {}
  int operator[](cudaDeviceAttr attribute) const {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, device_) == cudaSuccess) return value;
    cudaGetLastError();  // an older driver does not know it: the fact is left out
    return 0;
  }

 private:
  int device_;
};

std::string cuda_version(cudaError_t (*get)(int*)) {
  int version = 0;
  if (get(&version) != cudaSuccess || version == 0) return {};
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string pci_address(int device) {
  char text[32] = {};
  return cudaDeviceGetPCIBusId(text, sizeof text, device) == cudaSuccess ? text : "";
}

}  // namespace

GpuDescription describe_gpu(Device& device) {
  const Capabilities& capabilities = device.capabilities();
  const int index = static_cast<CudaDevice&>(device).index();
  const GpuAttributes attribute(index);
  return {.name = capabilities.name,
          .pci = pci_address(index),
          .driver = cuda_version(cudaDriverGetVersion),
          .runtime = cuda_version(cudaRuntimeGetVersion),
          .libraries = capabilities.libraries,
          .compute_capability = capabilities.compute_capability,
          .multiprocessors = attribute[cudaDevAttrMultiProcessorCount],
          .warp_size = attribute[cudaDevAttrWarpSize],
          .copy_engines = attribute[cudaDevAttrAsyncEngineCount],
          .bus_bits = attribute[cudaDevAttrGlobalMemoryBusWidth],
          .core_khz = double(attribute[cudaDevAttrClockRate]),
          .memory_khz = double(attribute[cudaDevAttrMemoryClockRate]),
          .memory_bytes = static_cast<std::int64_t>(capabilities.memory_bytes),
          .constant_bytes = attribute[cudaDevAttrTotalConstantMemory],
          .l2_bytes = attribute[cudaDevAttrL2CacheSize],
          .blocks = attribute[cudaDevAttrMaxBlocksPerMultiprocessor],
          .threads = attribute[cudaDevAttrMaxThreadsPerMultiProcessor],
          .registers = attribute[cudaDevAttrMaxRegistersPerMultiprocessor],
          .shared_bytes = attribute[cudaDevAttrMaxSharedMemoryPerMultiprocessor],
          .block_threads = attribute[cudaDevAttrMaxThreadsPerBlock],
          .block_shared_bytes = attribute[cudaDevAttrMaxSharedMemoryPerBlockOptin],
          .ecc = attribute[cudaDevAttrEccEnabled] != 0};
}

}  // namespace headroom
