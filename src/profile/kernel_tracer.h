#pragma once

#include <memory>

#include "plan/executor.h"
#include "profile/trace.h"

namespace headroom {

// Records the kernels, copies and calls of a GPU between start() and stop(), and ties each kernel to the step
// of the plan that launched it: as a recorder it hears which step is being queued or captured. A graph must
// be captured after start(): nodes of earlier ones belong to no step.
class KernelTracer : public Recorder {
 public:
  virtual void start() = 0;
  // Waits for the device, detaches, and adds what was recorded, on a clock that starts at `origin_ns`.
  // Threads of calls become lanes; spans should be added first, so that they share lanes.
  virtual void stop(Trace& trace, std::int64_t origin_ns, int rank) = 0;
  bool hears_captures() const override { return true; }
};

struct TracerOptions {
  // When each kernel was queued and submitted, too. That takes the host longer; kernels of a captured step
  // have no such times.
  bool delays = false;
  // Pages of managed memory that the driver moves, too. Attaching takes two seconds then.
  bool pages = false;
  // Counters are to be read after the trace: the tracing library stays attached until the tracer is gone,
  // because one that was detached reads no counters.
  bool counters_follow = false;
};

// Null for a CPU. Throws if the device cannot be traced, and says why: no CUPTI, another profiler, a driver
// that forbids it.
std::unique_ptr<KernelTracer> make_kernel_tracer(Device& device, const TracerOptions& options = {});

}  // namespace headroom
