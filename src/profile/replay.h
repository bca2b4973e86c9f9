#pragma once

#include <functional>
#include <vector>

#include "profile/intervals.h"

namespace headroom {

// What would be different. A factor of 1 leaves an event as it was measured; a kernel of factor 0 is gone.
struct ReplayChange {
  std::function<double(const Trace::Kernel&)> kernel_factor = {};
  std::function<double(const Trace::Copy&)> copy_factor = {};
  std::function<double(const Trace::Call&)> call_factor =
      {};  // of the host's time in it; 0: the call is gone
  std::function<double(const Trace::Span&)> step_factor = {};  // of steps of the plan on a CPU
  // Copies that run beside everything else, one after another; nothing waits for them but the end.
  std::function<bool(const Trace::Copy&)> hidden = {};
  // Kernels that a second stream would take: each begins when the kernel before it on the first stream has
  // ended. `joins` is true for kernels that wait for all of them.
  std::function<bool(const Trace::Kernel&)> beside = {}, joins = {};
  bool no_loader_waits = false;
  double loader_factor = 1;         // of the times at which the loader has a batch ready
  bool no_synchronisation = false;  // the host waits for the device only at the end of a window
  // Kernels of a batch are one launch: its first launch call stays, and the host's work between the others
  // goes. Within it a kernel follows its predecessor after at most graph_node_s.
  bool one_launch_per_batch = false;
  double graph_node_s = 1e-6;
  IntervalSet skipped = {};  // takes no time in waits for other ranks and in their exchange kernels
};

// Replays the windows of one rank as a graph of dependencies, to predict the time of a step if a cost changed
// or vanished. The model is simple:
// - The host runs its calls, its waits for the loader and for other ranks, and its own work between them one
//   after another, each as long as it was measured.
// - A stream runs its kernels and copies in their order. Each begins after its predecessor on the stream,
//   after the call that launched it, and after those of other streams it waited for: within one launch of a
//   graph those that ended up to 2 us before it began; between launches that holds only for a copy and a
//   kernel. The last of these keeps the delay that was measured, the others get the usual one.
// - A call that waits for the device ends after the work whose end it saw: its own copy, else the last to end
//   during the call.
// - A loader that kept the host waiting has no batch in store: its next one is ready when it was.
// - A window takes until the host is through and the last kernel or copy has ended.
// Kernels do not slow each other down, and the loader's and other ranks' work does not change.
class Replay {
 public:
  explicit Replay(const Trace& trace, int rank = 0);  // the trace must outlive it

  int steps() const { return steps_; }
  double measured_s() const;                              // of a step
  double seconds(const ReplayChange& change = {}) const;  // of a step; 0 without any

 private:
  friend class ReplayBuilder;
  static constexpr int kNothing = -1;

  struct HostItem : Trace::Interval {
    enum class Kind { call, loader_wait, ranks_wait, step } kind = Kind::call;
    int event = kNothing;       // its number among the trace's calls or spans
    int job = kNothing;         // the work of the device it waited for
    int batch = kNothing;       // the batch in which it lies
    bool launches = false;      // kernels, or belongs to their launch
    bool synchronises = false;  // waits for the device on purpose
  };
  struct Job : Trace::Interval {
    int kernel = kNothing, copy = kNothing;  // its number among the trace's kernels or copies
    int lane = 0;
    int item = kNothing;                               // of the host, that launched it
    std::vector<int> after = {};                       // jobs of other streams it waited for
    std::int64_t after_call_ns = 0, after_job_ns = 0;  // delays
  };
  struct Window : Trace::Interval {
    std::vector<HostItem> items;  // in their order
    std::vector<Job> jobs;        // in order of their begin
  };
  class Run;

  const Trace& trace_;
  int steps_ = 0;
  std::vector<Window> windows_;
};

}  // namespace headroom
