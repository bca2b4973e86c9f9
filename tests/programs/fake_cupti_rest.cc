// The functions of CUPTI that fake_cupti.cc need not imitate: each succeeds and does nothing. Without CUPTI's
// headers, since they would ask for the parameters.

#define FAKE_CUPTI_CALL(name) \
  extern "C" int cupti##name() { return 0; }

FAKE_CUPTI_CALL(Unsubscribe)
FAKE_CUPTI_CALL(EnableCallback)
FAKE_CUPTI_CALL(Finalize)
FAKE_CUPTI_CALL(ActivityEnable)
FAKE_CUPTI_CALL(ActivityDisable)
FAKE_CUPTI_CALL(ActivityFlushAll)
FAKE_CUPTI_CALL(ActivityRegisterCallbacks)
FAKE_CUPTI_CALL(ActivityRegisterTimestampCallback)
FAKE_CUPTI_CALL(ActivityGetNextRecord)
FAKE_CUPTI_CALL(ActivityGetNumDroppedRecords)
FAKE_CUPTI_CALL(ActivityPushExternalCorrelationId)
FAKE_CUPTI_CALL(ActivityPopExternalCorrelationId)
FAKE_CUPTI_CALL(GetCallbackName)
FAKE_CUPTI_CALL(GetGraphNodeId)
FAKE_CUPTI_CALL(SetThreadIdType)
FAKE_CUPTI_CALL(GetStreamIdEx)
FAKE_CUPTI_CALL(ActivityEnableLatencyTimestamps)
FAKE_CUPTI_CALL(ActivityConfigureUnifiedMemoryCounter)
FAKE_CUPTI_CALL(ProfilerInitialize)
FAKE_CUPTI_CALL(ProfilerDeInitialize)
FAKE_CUPTI_CALL(ProfilerHostGetBaseMetrics)
FAKE_CUPTI_CALL(RangeProfilerDisable)
FAKE_CUPTI_CALL(RangeProfilerCounterDataImageInitialize)
