#include "profile/kernel_tracer.h"

#include "base/error.h"
#include "profile/cuda/cupti_tracer.h"

namespace headroom {

std::unique_ptr<KernelTracer> make_kernel_tracer(Device& device,
                                                 [[maybe_unused]] const TracerOptions& options) {
  if (device.kind() == DeviceKind::cpu) return nullptr;
#ifdef HEADROOM_HAS_CUDA
  return make_cupti_tracer(device, options);
#else
  fail("a device '{}' in a program built without CUDA", device.capabilities().name);
#endif
}

}  // namespace headroom
