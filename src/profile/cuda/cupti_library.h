#pragma once

// NVIDIA's tracing library, loaded on first use: a process that never profiles does not load it.

#ifdef HEADROOM_HAS_CUPTI

#include <cupti.h>

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

// Throws if the library cannot be loaded or is too old, and says what to try.
const Cupti& cupti();
// Throws with the meaning of the result for a user.
void check_cupti(CUptiResult result, const char* call);

}  // namespace headroom

#define HEADROOM_CUPTI_CHECK(call) ::headroom::check_cupti(::headroom::cupti().call, #call)
#endif
