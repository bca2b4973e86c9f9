#include "profile/cuda/cupti_session.h"

#ifdef HEADROOM_HAS_RANGES

#include "base/error.h"

namespace headroom {

ProfilerSession::ProfilerSession() {
  HEADROOM_CUPTI_PARAMS(Profiler_Initialize, p);
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerInitialize(&p));
}

ProfilerSession::~ProfilerSession() {
  HEADROOM_CUPTI_PARAMS(Profiler_DeInitialize, p);
  cupti_profiler().ProfilerDeInitialize(&p);
}

void require_profiling(int device, CUpti_Profiler_API api) {
  HEADROOM_CUPTI_PARAMS(Profiler_DeviceSupported, p);
  p.cuDevice = device;
  p.api = api;
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerDeviceSupported(&p));
  const std::pair<CUpti_Profiler_Support_Level, const char*> parts[] = {
      {p.architecture, "CUPTI does not know its architecture"},
      {p.sli, "SLI is on"},
      {p.vGpu, "it is a virtual GPU"},
      {p.confidentialCompute, "confidential computing is on"},
      {p.cmp, "it is a mining processor"},
      {p.wsl, "the system is WSL"},
      {p.isSupported, "CUPTI does not say why"}};
  for (const auto& [level, reason] : parts)
    if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
      throw Error(Blame::run, fmt::format("counters of this GPU cannot be read: {}", reason), Hint{});
}

std::string chip_name(int device) {
  HEADROOM_CUPTI_PARAMS(Device_GetChipName, p);
  p.deviceIndex = static_cast<std::size_t>(device);
  HEADROOM_CUPTI_PROFILER_CHECK(DeviceGetChipName(&p));
  return p.pChipName;
}

}  // namespace headroom

#endif
