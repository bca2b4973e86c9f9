#pragma once

// NVIDIA's tracing library, loaded on first use: a process that never profiles does not load it.

#ifdef HEADROOM_HAS_CUPTI

#include <cupti.h>

// Older versions of CUPTI read counters in another way, which this program does not know.
#if __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_pmsampling.h>)
#define HEADROOM_HAS_RANGES
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif

namespace headroom {

#define HEADROOM_CUPTI_CALLS(call)                                                                         \
  call(GetVersion) call(GetResultString) call(Subscribe) call(Unsubscribe) call(EnableCallback)            \
      call(Finalize) call(ActivityEnable) call(ActivityDisable) call(ActivityFlushAll)                     \
          call(ActivityRegisterCallbacks) call(ActivityRegisterTimestampCallback)                          \
              call(ActivityGetNextRecord) call(ActivityGetNumDroppedRecords)                               \
                  call(ActivityPushExternalCorrelationId) call(ActivityPopExternalCorrelationId)           \
                      call(GetCallbackName) call(GetGraphNodeId) call(SetThreadIdType) call(GetStreamIdEx) \
                          call(ActivityEnableLatencyTimestamps) call(ActivityConfigureUnifiedMemoryCounter)

struct Cupti {
#define HEADROOM_CUPTI_CALL(name) decltype(::cupti##name)* name = nullptr;
  HEADROOM_CUPTI_CALLS(HEADROOM_CUPTI_CALL)
#undef HEADROOM_CUPTI_CALL
};

// Throws if the library cannot be loaded or is too old, and says what to try. cupti_library.cc loads the
// system's; the library that is loaded into other programs has its own, src/inject/cuda/loaded_cupti.cc.
const Cupti& cupti();
// Throws with the meaning of the result for a user.
void check_cupti(CUptiResult result, const char* call);

#ifdef HEADROOM_HAS_RANGES
#define HEADROOM_CUPTI_PROFILER_CALLS(call)                                                                \
  call(ProfilerInitialize) call(ProfilerDeInitialize) call(ProfilerDeviceSupported)                        \
      call(ProfilerGetCounterAvailability) call(DeviceGetChipName) call(ProfilerHostGetSupportedChips)     \
          call(ProfilerHostInitialize) call(ProfilerHostDeinitialize) call(ProfilerHostGetBaseMetrics)     \
              call(ProfilerHostConfigAddMetrics) call(ProfilerHostGetConfigImageSize)                      \
                  call(ProfilerHostGetConfigImage) call(ProfilerHostGetNumOfPasses)                        \
                      call(ProfilerHostEvaluateToGpuValues) call(RangeProfilerEnable)                      \
                          call(RangeProfilerDisable) call(RangeProfilerSetConfig) call(RangeProfilerStart) \
                              call(RangeProfilerStop) call(RangeProfilerPushRange)                         \
                                  call(RangeProfilerPopRange) call(RangeProfilerDecodeData)                \
                                      call(RangeProfilerGetCounterDataSize)                                \
                                          call(RangeProfilerCounterDataImageInitialize)                    \
                                              call(RangeProfilerGetCounterDataInfo)                        \
                                                  call(RangeProfilerCounterDataGetRangeInfo)

#define HEADROOM_CUPTI_SAMPLING_CALLS(call)                                             \
  call(PmSamplingGetCounterAvailability) call(PmSamplingEnable) call(PmSamplingDisable) \
      call(PmSamplingSetConfig) call(PmSamplingStart) call(PmSamplingStop)              \
          call(PmSamplingGetCounterDataSize) call(PmSamplingCounterDataImageInitialize) \
              call(PmSamplingDecodeData) call(PmSamplingGetCounterDataInfo)             \
                  call(PmSamplingCounterDataGetSampleInfo)

struct CuptiProfiler {
#define HEADROOM_CUPTI_CALL(name) decltype(::cupti##name)* name = nullptr;
  HEADROOM_CUPTI_PROFILER_CALLS(HEADROOM_CUPTI_CALL)
  HEADROOM_CUPTI_SAMPLING_CALLS(HEADROOM_CUPTI_CALL)
#undef HEADROOM_CUPTI_CALL
};
const CuptiProfiler& cupti_profiler();  // throws as cupti() does
#endif

}  // namespace headroom

#define HEADROOM_CUPTI_CHECK(call) ::headroom::check_cupti(::headroom::cupti().call, #call)
#define HEADROOM_CUPTI_PROFILER_CHECK(call) ::headroom::check_cupti(::headroom::cupti_profiler().call, #call)
// A call's parameters, with the size that CUPTI checks.
#define HEADROOM_CUPTI_PARAMS(type, name) \
  CUpti_##type##_Params name{};           \
  name.structSize = CUpti_##type##_Params_STRUCT_SIZE
#endif
