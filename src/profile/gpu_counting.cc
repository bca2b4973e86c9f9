#include "profile/gpu_counting.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "profile/gpu_counter_recorder.h"

#ifdef HEADROOM_HAS_CUDA
#include "device/cuda/cuda_device.h"
#include "profile/cuda/cupti_ranges.h"
#include "profile/cuda/metric_host.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA

namespace {

int index_of(Device& device) { return dynamic_cast<CudaDevice&>(device).index(); }

}  // namespace

CounterPasses gpu_counter_passes(const std::vector<std::string>& counters, const std::string& chip) {
  const MetricHost host(chip);
  for (const std::string& counter : counters) {
    if (!is_cupti_metric(counter) || host.runs_of({counter}) > 0) continue;
    const std::vector<std::string> known = host.metrics();
    reject(nearest(counter.substr(0, counter.find('.')), known), "{} has no metric '{}'", chip, counter);
  }
  return split_into_passes(counters, chip, [&](const auto& metrics) { return host.runs_of(metrics); });
}

void require_gpu_counters(Device& device, const std::vector<std::string>& counters) {
  if (device.kind() == DeviceKind::cpu || std::ranges::none_of(counters, is_cupti_metric)) return;
  try {
    gpu_counter_passes(counters, cupti_chip_of(index_of(device)));
  } catch (const Error& error) {
    if (error.blame() == Blame::request) throw;  // the recorder tells the other reasons
  }
}

std::unique_ptr<StepCounts> make_gpu_counts(Device& device, const Plan& plan,
                                            const std::vector<std::string>& counters) {
  try {
    return std::make_unique<GpuCounterRecorder>(plan, make_cupti_ranges(index_of(device), counters));
  } catch (const Error& error) {
    const std::string remedy = error.hint().empty() ? "" : fmt::format(" ({})", error.hint());
    return std::make_unique<GpuCounterRecorder>(plan, nullptr, error.what() + remedy);
  }
}

#else

CounterPasses gpu_counter_passes(const std::vector<std::string>&, const std::string&) {
  throw Error(Blame::run, "this program was built without CUDA", Hint{"build it where the CUDA toolkit is"});
}

void require_gpu_counters(Device&, const std::vector<std::string>&) {}

std::unique_ptr<StepCounts> make_gpu_counts(Device&, const Plan& plan, const std::vector<std::string>&) {
  return std::make_unique<GpuCounterRecorder>(plan, nullptr, "this program was built without CUDA");
}

#endif

}  // namespace headroom
