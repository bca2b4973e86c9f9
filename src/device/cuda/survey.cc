#include <cuda_runtime_api.h>

#include "base/error.h"
#include "device/device.h"

namespace headroom {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Capabilities capabilities_of(int index) {
  cudaDeviceProp p{};
  if (cudaGetDeviceProperties(&p, index) != cudaSuccess) return {.kind = DeviceKind::cuda};
  return {.kind = DeviceKind::cuda,
          .name = p.name,
          .compute_capability = 10 * p.major + p.minor,
          .multiprocessors = p.multiProcessorCount,
          .memory_bytes = p.totalGlobalMem};
}

}  // namespace

GpuSurvey survey_gpus() {
  GpuSurvey survey;
  int runtime = 0, driver = 0, count = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);  // 0: no driver
  survey.runtime = version_text(runtime);
  if (driver != 0) survey.driver = version_text(driver);
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (driver == 0) {
    survey.why_not = "no NVIDIA driver is installed here";
    survey.try_this = "install the driver of your card and check it with nvidia-smi";
  } else if (error == cudaErrorInsufficientDriver) {
    survey.why_not =
        fmt::format("the driver is for CUDA {}, too old for this program, which was built with CUDA {}",
                    survey.driver, survey.runtime);
    survey.try_this = "install a newer driver, or build with the older toolkit";
  } else if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    survey.why_not = "the driver sees no GPU";
    survey.try_this = "check nvidia-smi and CUDA_VISIBLE_DEVICES";
  } else if (error != cudaSuccess) {
    survey.why_not = fmt::format("the driver says: {}", cudaGetErrorString(error));
    survey.try_this = "check nvidia-smi";
  }
  for (int i = 0; i < count && survey.why_not.empty(); ++i) survey.gpus.push_back(capabilities_of(i));
  return survey;
}

}  // namespace headroom
