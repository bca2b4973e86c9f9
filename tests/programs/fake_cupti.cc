// A CUPTI without a GPU: it calls its subscriber as CUPTI would around the launches of counted_program.cc,
// and every counter of a kernel is the length of its name. FAKE_CUPTI_REFUSES=1: this user may not count.
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Fake {
  CUpti_CallbackFunc callback = nullptr;
  bool enabled = false, configured = false, started = false;
  std::size_t room = 0;
  std::vector<std::string> ranges;  // kernels of the window
  bool user_ranges = false, pushed = false;
  std::size_t decoded = 0;
  std::string name;  // of the range that was asked for last
};
Fake& fake() {
  static Fake* const made = new Fake;
  return *made;
}

struct Metrics {
  std::vector<std::string> names;
};

constexpr std::size_t kRoomOfPass = 12;
constexpr std::size_t kImageBytes = 8;
const char* const kChips[] = {"GH100"};

bool is_sass(const std::string& name) { return name.find("_sass_") != std::string::npos; }

// Instructions that are added to kernels never share a pass with the others.
std::uint8_t passes_of(const std::vector<std::string>& names) {
  std::size_t sass = 0;
  for (const std::string& name : names) sass += is_sass(name) ? 1 : 0;
  const std::size_t plain = names.size() - sass;
  return static_cast<std::uint8_t>((plain + kRoomOfPass - 1) / kRoomOfPass + (sass > 0 ? 1 : 0));
}

void call_back(CUpti_driver_api_trace_cbid id, CUpti_ApiCallbackSite site, const char* kernel,
               const void* params) {
  CUpti_CallbackData data{};
  data.callbackSite = site, data.symbolName = kernel, data.functionParams = params;
  data.context = reinterpret_cast<CUcontext>(1);
  if (fake().callback != nullptr) fake().callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

}  // namespace

extern "C" {

// What counted_program calls.
void fake_launch(const char* kernel, unsigned blocks) {
  cuLaunchKernel_params params{};
  params.gridDimX = blocks, params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 128, params.blockDimY = params.blockDimZ = 1;
  call_back(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_ENTER, kernel, &params);
  if (fake().started && std::strstr(kernel, "nccl") != nullptr) std::abort();  // it would wait for ever
  if (fake().started && !fake().user_ranges) fake().ranges.emplace_back(kernel);
  call_back(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_EXIT, kernel, &params);
}
void fake_graph_launch() {
  call_back(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_ENTER, nullptr, nullptr);
  if (fake().pushed)  // kernels of a graph are no ranges by themselves
    for (const char* kernel : {"ab", "abc"}) fake().ranges.back() += kernel;
  call_back(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_EXIT, nullptr, nullptr);
}
void fake_capture(bool begins) {
  const auto id =
      begins ? CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2 : CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture;
  call_back(id, CUPTI_API_ENTER, nullptr, nullptr);
  if (begins && fake().started) std::abort();  // it would end the capture
  call_back(id, CUPTI_API_EXIT, nullptr, nullptr);
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "a made-up error";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  fake().callback = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  p->isSupported = p->architecture = p->sli = p->vGpu = p->confidentialCompute = p->cmp = p->wsl =
      CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  if (std::getenv("FAKE_CUPTI_REFUSES") != nullptr) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  p->counterAvailabilityImageSize = kImageBytes;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = kChips[0];
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  p->numChips = 1, p->ppChipNames = kChips;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(new Metrics);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete reinterpret_cast<Metrics*>(p->pHostObject);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  auto& names = reinterpret_cast<Metrics*>(p->pHostObject)->names;
  names.assign(p->ppMetricNames, p->ppMetricNames + p->numMetrics);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = kImageBytes;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  p->pConfigImage[0] = passes_of(reinterpret_cast<Metrics*>(p->pHostObject)->names);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  p->numOfPasses = p->pConfigImage[0];
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    p->pMetricValues[i] = double(fake().ranges.at(p->rangeIndex).size());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  fake().enabled = true;
  p->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(1);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  p->counterDataSize = kImageBytes;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  const bool user = p->range == CUPTI_UserRange;
  if (!fake().enabled || fake().started || p->replayMode != (user ? CUPTI_UserReplay : CUPTI_KernelReplay) ||
      p->pConfig[0] != 1)
    return CUPTI_ERROR_INVALID_OPERATION;
  fake().user_ranges = user;
  fake().room = p->maxRangesPerPass, fake().configured = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  if (!fake().configured || fake().started) return CUPTI_ERROR_INVALID_OPERATION;
  fake().started = true, fake().ranges.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params*) {
  if (!fake().started || !fake().user_ranges || fake().pushed) return CUPTI_ERROR_INVALID_OPERATION;
  fake().pushed = true, fake().ranges.emplace_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  if (!std::exchange(fake().pushed, false)) return CUPTI_ERROR_INVALID_OPERATION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  if (!fake().started) return CUPTI_ERROR_INVALID_OPERATION;
  fake().started = false, p->isAllPassSubmitted = 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  p->numOfRangeDropped = fake().ranges.size() > fake().room ? fake().ranges.size() - fake().room : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  p->numTotalRanges = fake().ranges.size();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* p) {
  fake().name = std::to_string(p->rangeIndex);
  p->rangeName = fake().name.c_str();
  return CUPTI_SUCCESS;
}

}  // extern "C"
