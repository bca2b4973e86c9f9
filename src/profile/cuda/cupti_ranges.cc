#include "profile/cuda/cupti_ranges.h"

#include "base/error.h"
#include "base/text.h"
#include "profile/cuda/cupti_library.h"

#ifdef HEADROOM_HAS_RANGES

#include <deque>
#include <utility>

#include "device/cuda/library.h"
#include "profile/cuda/cupti_session.h"
#include "profile/cuda/metric_host.h"

namespace headroom {
namespace {

// The two calls of the driver that counting needs.
class Driver {
 public:
  Driver() : library_({"libcuda.so.1"}) {
    if (!library_.loaded() || !library_.find(get_, "cuCtxGetCurrent") ||
        !library_.find(synchronize_, "cuCtxSynchronize"))
      throw Error(Blame::run, "the driver of the GPU cannot be called", Hint{});
  }
  CUcontext current_context() const {
    CUcontext context = nullptr;
    if (get_(&context) != CUDA_SUCCESS || context == nullptr)
      throw Error(Blame::run, "the GPU has no context to count in", Hint{});
    return context;
  }
  void synchronize() const {
    if (synchronize_() != CUDA_SUCCESS)
      throw Error(Blame::run, "the GPU failed before its counters could be read", Hint{});
  }

 private:
  cuda::Library library_;
  CUresult (*get_)(CUcontext*) = nullptr;
  CUresult (*synchronize_)() = nullptr;
};

// What the driver lets this user count. Whoever may not learns it here.
std::vector<std::uint8_t> availability(CUcontext context) {
  HEADROOM_CUPTI_PARAMS(Profiler_GetCounterAvailability, p);
  p.ctx = context;
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerGetCounterAvailability(&p));
  std::vector<std::uint8_t> image(p.counterAvailabilityImageSize);
  p.pCounterAvailabilityImage = image.data();
  HEADROOM_CUPTI_PROFILER_CHECK(ProfilerGetCounterAvailability(&p));
  return image;
}

class CuptiRanges final : public RangeCounter {
 public:
  CuptiRanges(int device, const std::vector<std::string>& counters) : context_(driver_.current_context()) {
    require_profiling(device, CUPTI_PROFILER_RANGE_PROFILING);
    host_ = std::make_unique<MetricHost>(chip_name(device), availability(context_));
    passes_ = split_into_passes(counters, host_->chip(), [this](const auto& m) { return host_->runs_of(m); });
  }
  ~CuptiRanges() override { disable(); }

  const CounterPasses& passes() const override { return passes_; }

  // Each pass has a profiler of its own: one that counted by hardware ends the process with a signal when it
  // is to count by added instructions.
  void prepare(std::size_t pass, std::size_t max_ranges, RangeMode mode) override {
    disable();
    mode_ = mode;
    HEADROOM_CUPTI_PARAMS(RangeProfiler_Enable, enable);
    enable.ctx = context_;
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerEnable(&enable));
    profiler_ = enable.pRangeProfilerObject;
    pass_ = pass;
    names_.clear();
    config_ = host_->config_image(passes_.passes[pass].metrics);
    make_data_image(max_ranges);
    HEADROOM_CUPTI_PARAMS(RangeProfiler_SetConfig, p);
    p.pRangeProfilerObject = profiler_;
    p.configSize = config_.size(), p.pConfig = config_.data();
    p.counterDataImageSize = data_.size(), p.pCounterDataImage = data_.data();
    const bool pushed = mode_ == RangeMode::pushed;
    p.range = pushed ? CUPTI_UserRange : CUPTI_AutoRange;
    p.replayMode = pushed ? CUPTI_UserReplay : CUPTI_KernelReplay;
    p.maxRangesPerPass = max_ranges;
    p.numNestingLevels = 1, p.minNestingLevel = 1, p.targetNestingLevel = 1;
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerSetConfig(&p));
  }

  void start() override {
    driver_.synchronize();
    HEADROOM_CUPTI_PARAMS(RangeProfiler_Start, p);
    p.pRangeProfilerObject = profiler_;
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerStart(&p));
    running_ = true;
  }

  void push(std::size_t range) override {
    HEADROOM_CUPTI_PARAMS(RangeProfiler_PushRange, p);
    p.pRangeProfilerObject = profiler_;
    p.pRangeName = names_.emplace_back(std::to_string(range)).c_str();
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerPushRange(&p));
  }
  void pop() override {
    driver_.synchronize();
    HEADROOM_CUPTI_PARAMS(RangeProfiler_PopRange, p);
    p.pRangeProfilerObject = profiler_;
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerPopRange(&p));
  }

  bool stop() override {
    if (mode_ == RangeMode::pushed) driver_.synchronize();  // CUPTI itself waits for single kernels
    HEADROOM_CUPTI_PARAMS(RangeProfiler_Stop, p);
    p.pRangeProfilerObject = profiler_;
    running_ = false;
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerStop(&p));
    return p.isAllPassSubmitted == 1;
  }

  std::vector<RangeValues> read() override {
    HEADROOM_CUPTI_PARAMS(RangeProfiler_DecodeData, decode);
    decode.pRangeProfilerObject = profiler_;
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerDecodeData(&decode));
    dropped_ += decode.numOfRangeDropped;
    HEADROOM_CUPTI_PARAMS(RangeProfiler_GetCounterDataInfo, info);
    info.pCounterDataImage = data_.data(), info.counterDataImageSize = data_.size();
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerGetCounterDataInfo(&info));
    std::vector<RangeValues> all;
    for (std::size_t r = 0; r < info.numTotalRanges; ++r)
      all.push_back({range_number(r), host_->values(data_, r, passes_.passes[pass_].metrics)});
    return all;
  }
  std::vector<std::uint8_t> image() const override { return data_; }

 private:
  void make_data_image(std::size_t max_ranges) {
    std::vector<const char*> names;
    for (const std::string& metric : passes_.passes[pass_].metrics) names.push_back(metric.c_str());
    HEADROOM_CUPTI_PARAMS(RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names.data(), size.numMetrics = names.size();
    size.maxNumOfRanges = max_ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(max_ranges);
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerGetCounterDataSize(&size));
    data_.assign(size.counterDataSize, 0);
    HEADROOM_CUPTI_PARAMS(RangeProfiler_CounterDataImage_Initialize, init);
    init.pRangeProfilerObject = profiler_;
    init.counterDataSize = data_.size(), init.pCounterData = data_.data();
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerCounterDataImageInitialize(&init));
  }

  std::size_t range_number(std::size_t index) const {
    HEADROOM_CUPTI_PARAMS(RangeProfiler_CounterData_GetRangeInfo, p);
    p.pCounterDataImage = data_.data(), p.counterDataImageSize = data_.size();
    p.rangeIndex = index, p.rangeDelimiter = "/";
    HEADROOM_CUPTI_PROFILER_CHECK(RangeProfilerCounterDataGetRangeInfo(&p));
    return static_cast<std::size_t>(parse_int(split(p.rangeName, '/').back(), "a range of CUPTI"));
  }

  void disable() noexcept {
    if (profiler_ == nullptr) return;
    if (std::exchange(running_, false)) {
      HEADROOM_CUPTI_PARAMS(RangeProfiler_Stop, p);
      p.pRangeProfilerObject = profiler_;
      cupti_profiler().RangeProfilerStop(&p);
    }
    HEADROOM_CUPTI_PARAMS(RangeProfiler_Disable, p);
    p.pRangeProfilerObject = std::exchange(profiler_, nullptr);
    cupti_profiler().RangeProfilerDisable(&p);
  }

  RangeMode mode_ = RangeMode::pushed;
  Driver driver_;
  ProfilerSession session_;
  CUcontext context_;
  std::unique_ptr<MetricHost> host_;
  CounterPasses passes_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::size_t pass_ = 0;
  bool running_ = false;
  std::deque<std::string> names_;  // of the ranges; CUPTI does not say whether it copies them
  std::vector<std::uint8_t> config_, data_;
};

}  // namespace

std::string cupti_chip_of(int device) {
  const ProfilerSession session;
  return chip_name(device);
}

std::unique_ptr<RangeCounter> make_cupti_ranges(int device, const std::vector<std::string>& counters) {
  return std::make_unique<CuptiRanges>(device, counters);
}

}  // namespace headroom

#else

namespace headroom {
namespace {

[[noreturn]] void no_ranges() {
  throw Error(Blame::run, "this program was built without CUPTI, or with one that has no range profiler",
              Hint{"install CUPTI of the CUDA toolkit and build again"});
}

}  // namespace

std::string cupti_chip_of(int) { no_ranges(); }
std::unique_ptr<RangeCounter> make_cupti_ranges(int, const std::vector<std::string>&) { no_ranges(); }

}  // namespace headroom

#endif
