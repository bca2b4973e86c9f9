#pragma once

#include <memory>
#include <optional>

#include "profile/kernel_tracer.h"
#include "profile/measurement.h"
#include "profile/span_recorder.h"
#include "profile/step_counts.h"
#include "profile/step_watch.h"
#include "profile/trace.h"

namespace headroom {

// Records a run from its construction to finish(): spans of all threads throughout, kernels of a GPU while
// the steps of watch() run. If counters are asked for, more steps run with these: on a CPU as many, on a GPU
// one for each pass. One at a time.
class Profiler {
 public:
  explicit Profiler(std::int64_t steps, bool nvtx = false, TracerOptions tracer = {},
                    std::vector<std::string> counters = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // A watch over the steps of this plan, for whoever runs them. The device must outlive the profiler.
  StepWatch& watch(Device& device, const Plan& plan, int rank = 0);
  bool is_done() const { return done_; }  // all steps were seen, or the run has ended
  void add_counters(Measurement& measurement) const;
  bool counters_refused() const { return counts_ != nullptr && counts_->refused(); }
  std::int64_t origin_ns() const { return origin_ns_; }
  // Between the watched steps and finish() it can trace others, if its options say that counters follow.
  // Null: kernels cannot be traced.
  KernelTracer* tracer() { return tracer_.get(); }

  Trace finish();

 private:
  void attach();
  void detach();
  void count_next(const Plan& plan);

  std::int64_t origin_ns_;
  StepWatch watch_, counter_watch_;
  std::vector<std::string> counters_;
  std::unique_ptr<StepCounts> counts_;
  Device* device_ = nullptr;
  TracerOptions tracer_options_;
  bool keeps_tracer_;
  int rank_ = 0;
  std::optional<SpanRecorder> span_recorder_;
  std::unique_ptr<KernelTracer> tracer_;
  bool tracing_ = false, done_ = false;
  Trace trace_;  // windows, notes and own cost; kernels are added last
  Trace device_events_;
  double attached_s_ = 0;  // spent on starting and stopping the kernel trace
};

// The time of each step of the plan in every watched batch: kernels where there are any, else spans. Steps on
// two streams may overlap: then the times add up to more than the batch took.
Measurement measured_steps(const Trace& trace, std::size_t steps, int rank = 0);

// The cost of one span on this machine, in seconds.
double span_cost_s();

}  // namespace headroom
