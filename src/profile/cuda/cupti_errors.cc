#include "base/error.h"
#include "profile/cuda/cupti_library.h"

#ifdef HEADROOM_HAS_CUPTI

namespace headroom {
namespace {

struct CuptiReason {
  CUptiResult result;
  const char* meaning;
  const char* remedy;
};

constexpr CuptiReason kCuptiReasons[] = {
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler is attached to this process",
     "run without Nsight, cuda-gdb or compute-sanitizer"},
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "this user may not profile the GPU",
     "run as root, or have the driver loaded with NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "the virtual GPU does not allow profiling",
     "use a machine with a whole GPU"},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "this GPU does not allow profiling", "use another GPU"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "the hypervisor does not allow profiling",
     "have profiling enabled for the virtual machine"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "confidential computing does not allow profiling",
     "use a machine without it"},
    {CUPTI_ERROR_HARDWARE_BUSY, "another process is profiling the GPU", "stop the other profiler or monitor"},
    {CUPTI_ERROR_NOT_INITIALIZED, "the driver is too old for CUPTI, or libnvperf_host is missing",
     "install the driver and CUPTI of one CUDA release"},
};

}  // namespace

void check_cupti(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  for (const CuptiReason& reason : kCuptiReasons)
    if (reason.result == result) throw Error(Blame::run, reason.meaning, Hint{reason.remedy});
  const char* text = nullptr;
  cupti().GetResultString(result, &text);
  throw Error(Blame::run, fmt::format("CUPTI: {}: {}", call, text != nullptr ? text : "unknown error"),
              Hint{});
}

}  // namespace headroom
#endif
