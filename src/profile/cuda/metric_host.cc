#include "profile/cuda/metric_host.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "profile/cuda/cupti_library.h"

#ifdef HEADROOM_HAS_RANGES

namespace headroom {
namespace {

// The object in which CUPTI collects the metrics of one configuration.
class HostObject {
 public:
  HostObject(const std::string& chip, const std::vector<std::uint8_t>& availability, MetricUse use) {
    HEADROOM_CUPTI_PARAMS(Profiler_Host_Initialize, p);
    p.profilerType =
        use == MetricUse::ranges ? CUPTI_PROFILER_TYPE_RANGE_PROFILER : CUPTI_PROFILER_TYPE_PM_SAMPLING;
    p.pChipName = chip.c_str();
    p.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostInitialize(&p));
    object_ = p.pHostObject;
  }
  ~HostObject() {
    if (object_ == nullptr) return;
    HEADROOM_CUPTI_PARAMS(Profiler_Host_Deinitialize, p);
    p.pHostObject = object_;
    cupti_profiler().ProfilerHostDeinitialize(&p);
  }
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;

  CUpti_Profiler_Host_Object* get() const { return object_; }
  CUpti_Profiler_Host_Object* release() { return std::exchange(object_, nullptr); }

 private:
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> list;
  for (const std::string& name : names) list.push_back(name.c_str());
  return list;
}

// Empty if the chip lacks one of the metrics.
std::vector<std::uint8_t> image_of(const HostObject& host, const std::vector<std::string>& metrics) {
  std::vector<const char*> names = pointers(metrics);
  HEADROOM_CUPTI_PARAMS(Profiler_Host_ConfigAddMetrics, add);
  add.pHostObject = host.get();
  add.ppMetricNames = names.data(), add.numMetrics = names.size();
  if (cupti_profiler().ProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS) return {};
  HEADROOM_CUPTI_PARAMS(Profiler_Host_GetConfigImageSize, size);
  size.pHostObject = host.get();
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostGetConfigImageSize(&size));
  std::vector<std::uint8_t> image(size.configImageSize);
  HEADROOM_CUPTI_PARAMS(Profiler_Host_GetConfigImage, get);
  get.pHostObject = host.get();
  get.configImageSize = image.size(), get.pConfigImage = image.data();
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostGetConfigImage(&get));
  return image;
}

}  // namespace

std::vector<std::string> cupti_chips() {
  HEADROOM_CUPTI_PARAMS(Profiler_Host_GetSupportedChips, p);
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostGetSupportedChips(&p));
  std::vector<std::string> chips(p.ppChipNames, p.ppChipNames + p.numChips);
  std::ranges::sort(chips);
  return chips;
}

MetricHost::MetricHost(std::string chip, std::vector<std::uint8_t> availability, MetricUse use)
    : chip_(std::move(chip)), availability_(std::move(availability)), use_(use) {
  if (const auto chips = cupti_chips(); std::ranges::find(chips, chip_) == chips.end())
    reject(nearest(chip_, chips), "CUPTI does not know a chip '{}'", chip_);
  evaluator_ = HostObject(chip_, availability_, use_).release();
}

MetricHost::~MetricHost() {
  HEADROOM_CUPTI_PARAMS(Profiler_Host_Deinitialize, p);
  p.pHostObject = static_cast<CUpti_Profiler_Host_Object*>(evaluator_);
  cupti_profiler().ProfilerHostDeinitialize(&p);
}

int MetricHost::runs_of(const std::vector<std::string>& metrics) const {
  if (const auto known = runs_.find(metrics); known != runs_.end()) return known->second;
  std::vector<std::uint8_t> image = config_image(metrics);
  HEADROOM_CUPTI_PARAMS(Profiler_Host_GetNumOfPasses, p);
  p.configImageSize = image.size(), p.pConfigImage = image.data();
  if (!image.empty()) HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostGetNumOfPasses(&p));
  return runs_[metrics] = static_cast<int>(p.numOfPasses);
}

std::vector<std::string> MetricHost::metrics() const {
  HEADROOM_CUPTI_PARAMS(Profiler_Host_GetBaseMetrics, p);
  p.pHostObject = static_cast<CUpti_Profiler_Host_Object*>(evaluator_);
  p.metricType = CUPTI_METRIC_TYPE_COUNTER;
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostGetBaseMetrics(&p));
  return {p.ppMetricNames, p.ppMetricNames + p.numMetrics};
}

std::vector<std::uint8_t> MetricHost::config_image(const std::vector<std::string>& metrics) const {
  return image_of(HostObject(chip_, availability_, use_), metrics);
}

std::vector<double> MetricHost::values(std::span<const std::uint8_t> image, std::size_t range,
                                       const std::vector<std::string>& metrics) const {
  std::vector<const char*> names = pointers(metrics);
  std::vector<double> values(metrics.size());
  HEADROOM_CUPTI_PARAMS(Profiler_Host_EvaluateToGpuValues, p);
  p.pHostObject = static_cast<CUpti_Profiler_Host_Object*>(evaluator_);
  p.pCounterDataImage = image.data(), p.counterDataImageSize = image.size();
  p.rangeIndex = range;
  p.ppMetricNames = names.data(), p.numMetrics = names.size();
  p.pMetricValues = values.data();
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerHostEvaluateToGpuValues(&p));
  return values;
}

}  // namespace headroom

#else

namespace headroom {
namespace {

[[noreturn]] void no_counters() {
  throw Error(Blame::run, "this program was built without CUPTI, or with one that has no range profiler",
              Hint{"install CUPTI of the CUDA toolkit and build again"});
}

}  // namespace

std::vector<std::string> cupti_chips() { no_counters(); }
MetricHost::MetricHost(std::string, std::vector<std::uint8_t>, MetricUse) { no_counters(); }
MetricHost::~MetricHost() = default;
int MetricHost::runs_of(const std::vector<std::string>&) const { return 0; }
std::vector<std::string> MetricHost::metrics() const { return {}; }
std::vector<std::uint8_t> MetricHost::config_image(const std::vector<std::string>&) const { return {}; }
std::vector<double> MetricHost::values(std::span<const std::uint8_t>, std::size_t,
                                       const std::vector<std::string>&) const {
  return {};
}

}  // namespace headroom

#endif
