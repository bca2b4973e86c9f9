#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profile/gpu_samples.h"
#include "profile/kernel_tracer.h"

namespace headroom {

// Samples the counters of a GPU while it works. One at a time.
class GpuSampler {
 public:
  virtual ~GpuSampler() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual std::vector<GpuSample> read() = 0;       // after stop(), in order of time
  bool overflowed() const { return overflowed_; }  // the GPU had no room for the last samples

 protected:
  bool overflowed_ = false;
};

// Throws if the device cannot be sampled, and says why: no CUPTI, no right, another profiler.
std::unique_ptr<GpuSampler> make_gpu_sampler(Device& device, std::int64_t interval_ns);

// What CUPTI samples at the same time, in this order.
std::vector<std::string> sampled_metrics();
UnitUse use_of_metrics(const std::vector<double>& values, double seconds);

// A step over time: one run of a plan, as the mean of many.
struct SampledStep {
  std::int64_t interval_ns = 0;
  std::size_t samples = 0, runs = 0;
  ClockShift shift = {};
  double run_s = 0;  // from the begin of its first kernel to the end of its last
  struct Layer {
    std::string name;
    LayerUse use;
  };
  std::vector<Layer> layers = {};  // in the order of their first steps, and what belongs to none
  LayerUse all = {};
  std::vector<RunPoint> points = {};
  bool overflowed = false;

  std::string note() const;  // how it was sampled
};

// The samples and kernels of `runs` runs, all on their own clocks. A step that several layers share counts
// for the one with the largest share. Throws if samples and kernels do not agree at any shift.
SampledStep assigned_samples(const Plan& plan, const std::vector<GpuSample>& samples,
                             const std::vector<Trace::Kernel>& kernels, std::size_t runs);

// Runs the plan some hundred times as it is, while its kernels are traced, too. The plan must have run
// before. Throws as make_gpu_sampler does.
// The tracer must have been told that counters follow it.
SampledStep sample_step(Executor& executor, Device& device, std::int64_t interval_ns, KernelTracer& tracer);
using MakeSampler = std::function<std::unique_ptr<GpuSampler>(std::int64_t interval_ns)>;
SampledStep sample_step(Executor& executor, Device& device, std::int64_t interval_ns, KernelTracer& tracer,
                        const MakeSampler& make_sampler);

}  // namespace headroom
