#include "profile/gpm.h"

#include <cmath>
#include <memory>

#include "base/spans.h"
#include "profile/nvml_library.h"

namespace headroom {
namespace {

constexpr int kOk = NvmlLibrary::kSuccess;
// nvmlGpmMetricId_t, in percent.
constexpr unsigned kSmUse = 2, kSmOccupancy = 3, kAnyTensorUse = 5, kDramUse = 10;

// One reading of all of the GPU's counters.
class GpmSample {
 public:
  explicit GpmSample(const GpmCalls& calls) : calls_(calls) {
    if (calls.allocate(&sample_) != kOk) sample_ = nullptr;
  }
  ~GpmSample() {
    if (sample_ != nullptr) calls_.free(sample_);
  }
  GpmSample(const GpmSample&) = delete;
  GpmSample& operator=(const GpmSample&) = delete;
  bool take(void* gpu) { return sample_ != nullptr && calls_.take(gpu, sample_) == kOk; }
  void* get() const { return sample_; }

 private:
  const GpmCalls& calls_;
  void* sample_ = nullptr;
};

}  // namespace

std::optional<GpmUse> measure_gpm(const GpmCalls& calls, void* gpu, const std::function<void()>& work,
                                  std::string& why_not) {
  GpmCalls::Support support;
  if (calls.support(gpu, &support) != kOk || support.is_supported == 0) {
    why_not = "NVML does not measure the use of this GPU; it does since Hopper";
    return {};
  }
  GpmSample first(calls), second(calls);
  why_not = "NVML could not read the use of this GPU";
  if (!first.take(gpu)) return {};
  const std::int64_t begin = spans::now_ns();
  work();
  if (!second.take(gpu)) return {};
  GpmUse use{.seconds = 1e-9 * double(spans::now_ns() - begin)};
  const auto metrics = std::make_unique<GpmCalls::Metrics>();
  metrics->first = first.get(), metrics->second = second.get();
  for (const unsigned id : {kSmUse, kSmOccupancy, kAnyTensorUse, kDramUse})
    metrics->metrics[metrics->count++].id = id;
  if (calls.compare(metrics.get()) != kOk) return {};
  std::optional<double>* const places[] = {&use.sm, &use.occupancy, &use.tensor, &use.dram};
  for (unsigned m = 0; m < metrics->count; ++m)
    if (const GpmCalls::Metric& got = metrics->metrics[m]; got.result == kOk && std::isfinite(got.value))
      *places[m] = got.value;
  why_not.clear();
  return use;
}

std::optional<GpmUse> measure_gpm(const std::string& device, const std::function<void()>& work,
                                  std::string& why_not) {
  const NvmlLibrary nvml;
  why_not = nvml.why_not();
  if (!why_not.empty()) return {};
  GpmCalls calls;
  if (!nvml.find(calls.support, "nvmlGpmQueryDeviceSupport") ||
      !nvml.find(calls.allocate, "nvmlGpmSampleAlloc") || !nvml.find(calls.free, "nvmlGpmSampleFree") ||
      !nvml.find(calls.take, "nvmlGpmSampleGet") || !nvml.find(calls.compare, "nvmlGpmMetricsGet")) {
    why_not = "the driver's NVML is too old to measure the use of a GPU";
    return {};
  }
  void* const gpu = nvml.gpu(gpu_index(device));
  if (gpu != nullptr) return measure_gpm(calls, gpu, work, why_not);
  why_not = "NVML does not show this GPU";
  return {};
}

}  // namespace headroom
