#include "profile/cuda/cupti_sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "profile/cuda/cupti_session.h"

#ifdef HEADROOM_HAS_RANGES

#include "device/cuda/cuda_device.h"
#include "profile/cuda/metric_host.h"

namespace headroom {
namespace {

constexpr std::size_t kHardwareBytes = std::size_t{256} << 20;  // what the GPU fills between start and stop
constexpr std::uint32_t kImageSamples = 4096;  // decoded at a time; a sample takes some 20 KB

// What the driver lets this user sample. Whoever may not learns it here.
std::vector<std::uint8_t> sampling_availability(int device) {
  HEADROOM_CUPTI_PARAMS(PmSampling_GetCounterAvailability, p);
  p.deviceIndex = static_cast<std::size_t>(device);
  HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingGetCounterAvailability(&p));
  std::vector<std::uint8_t> image(p.counterAvailabilityImageSize);
  p.pCounterAvailabilityImage = image.data();
  HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingGetCounterAvailability(&p));
  return image;
}

// Sampling is enabled on the device while this lives.
class SamplingObject {
 public:
  explicit SamplingObject(int device) {
    HEADROOM_CUPTI_PARAMS(PmSampling_Enable, p);
    p.deviceIndex = static_cast<std::size_t>(device);
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingEnable(&p));
    object_ = p.pPmSamplingObject;
  }
  ~SamplingObject() {
    HEADROOM_CUPTI_PARAMS(PmSampling_Disable, p);
    p.pPmSamplingObject = object_;
    cupti_profiler().PmSamplingDisable(&p);
  }
  SamplingObject(const SamplingObject&) = delete;
  SamplingObject& operator=(const SamplingObject&) = delete;
  CUpti_PmSampling_Object* get() const { return object_; }

 private:
  CUpti_PmSampling_Object* object_ = nullptr;
};

class CuptiSampler final : public GpuSampler {
 public:
  CuptiSampler(CudaDevice& device, std::int64_t interval_ns) : metrics_(sampled_metrics()) {
    require_profiling(device.index(), CUPTI_PROFILER_PM_SAMPLING);
    host_ = std::make_unique<MetricHost>(chip_name(device.index()), sampling_availability(device.index()),
                                         MetricUse::sampling);
    if (host_->runs_of(metrics_) != 1)
      fail("{} cannot sample these counters at the same time", host_->chip());
    config_ = host_->config_image(metrics_);
    object_ = std::make_unique<SamplingObject>(device.index());
    configure(interval_ns);
    make_image();
  }
  ~CuptiSampler() override {
    if (!running_) return;
    HEADROOM_CUPTI_PARAMS(PmSampling_Stop, p);
    p.pPmSamplingObject = object_->get();
    cupti_profiler().PmSamplingStop(&p);
  }

  void start() override {
    HEADROOM_CUPTI_PARAMS(PmSampling_Start, p);
    p.pPmSamplingObject = object_->get();
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingStart(&p));
    running_ = true;
  }

  void stop() override {
    HEADROOM_CUPTI_PARAMS(PmSampling_Stop, p);
    p.pPmSamplingObject = object_->get();
    running_ = false;
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingStop(&p));
  }

  std::vector<GpuSample> read() override {
    std::vector<GpuSample> samples;
    for (bool more = true; more;) more = decode(samples);
    std::ranges::sort(samples, {}, &GpuSample::begin_ns);
    if (!samples.empty()) samples.erase(samples.begin());  // it may have begun before the sampling
    return samples;
  }

 private:
  // GA100 and older count the interval in clocks of the system, about one per nanosecond.
  void configure(std::int64_t interval_ns) {
    HEADROOM_CUPTI_PARAMS(PmSampling_SetConfig, p);
    p.pPmSamplingObject = object_->get();
    p.configSize = config_.size(), p.pConfig = config_.data();
    p.hardwareBufferSize = kHardwareBytes;
    p.samplingInterval = static_cast<std::uint64_t>(interval_ns);
    p.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
    p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    if (cupti_profiler().PmSamplingSetConfig(&p) == CUPTI_SUCCESS) return;
    p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingSetConfig(&p));
  }

  void make_image() {
    std::vector<const char*> names;
    for (const std::string& metric : metrics_) names.push_back(metric.c_str());
    HEADROOM_CUPTI_PARAMS(PmSampling_GetCounterDataSize, p);
    p.pPmSamplingObject = object_->get();
    p.pMetricNames = names.data(), p.numMetrics = names.size();
    p.maxSamples = kImageSamples;
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingGetCounterDataSize(&p));
    image_.resize(p.counterDataSize);
  }

  void clear_image() {
    HEADROOM_CUPTI_PARAMS(PmSampling_CounterDataImage_Initialize, p);
    p.pPmSamplingObject = object_->get();
    p.counterDataSize = image_.size(), p.pCounterData = image_.data();
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingCounterDataImageInitialize(&p));
  }

  // As many samples as the image holds; false: there were none. CUPTI's reason to stop does not tell whether
  // more are left: on an H200 it named another one after a full image.
  bool decode(std::vector<GpuSample>& samples) {
    clear_image();
    HEADROOM_CUPTI_PARAMS(PmSampling_DecodeData, p);
    p.pPmSamplingObject = object_->get();
    p.pCounterDataImage = image_.data(), p.counterDataImageSize = image_.size();
    const CUptiResult result = cupti_profiler().PmSamplingDecodeData(&p);
    overflowed_ |= p.overflow != 0 || result == CUPTI_ERROR_OUT_OF_MEMORY;
    if (result != CUPTI_ERROR_OUT_OF_MEMORY) check_cupti(result, "PmSamplingDecodeData");
    HEADROOM_CUPTI_PARAMS(PmSampling_GetCounterDataInfo, info);
    info.pCounterDataImage = image_.data(), info.counterDataImageSize = image_.size();
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingGetCounterDataInfo(&info));
    for (std::size_t s = 0; s < info.numCompletedSamples; ++s) add_sample(samples, s);
    return result == CUPTI_SUCCESS && info.numCompletedSamples > 0;
  }

  void add_sample(std::vector<GpuSample>& samples, std::size_t number) const {
    HEADROOM_CUPTI_PARAMS(PmSampling_CounterData_GetSampleInfo, p);
    p.pPmSamplingObject = object_->get();
    p.pCounterDataImage = image_.data(), p.counterDataImageSize = image_.size();
    p.sampleIndex = number;
    HEADROOM_CUPTI_PROFILER_CHECK(PmSamplingCounterDataGetSampleInfo(&p));
    GpuSample sample{{static_cast<std::int64_t>(p.startTimestamp), static_cast<std::int64_t>(p.endTimestamp)},
                     {}};
    const std::vector<double> values = host_->values(image_, number, metrics_);
    const bool known = std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
    if (sample.end_ns <= sample.begin_ns || !known) return;
    sample.use = use_of_metrics(values, sample.seconds());
    samples.push_back(sample);
  }

  ProfilerSession session_;
  std::vector<std::string> metrics_;
  std::unique_ptr<MetricHost> host_;
  std::vector<std::uint8_t> config_, image_;
  std::unique_ptr<SamplingObject> object_;
  bool running_ = false;
};

}  // namespace

std::unique_ptr<GpuSampler> make_cupti_sampler(Device& device, std::int64_t interval_ns) {
  return std::make_unique<CuptiSampler>(dynamic_cast<CudaDevice&>(device), interval_ns);
}

}  // namespace headroom

#else

namespace headroom {

std::unique_ptr<GpuSampler> make_cupti_sampler(Device&, std::int64_t) {
  throw Error(Blame::run, "this program was built without CUPTI, or with one that cannot sample",
              Hint{"install CUPTI of the CUDA toolkit and build again"});
}

}  // namespace headroom

#endif
