#include "profile/replay.h"

#include <algorithm>
#include <map>
#include <optional>

#include "profile/rank_trace.h"

namespace headroom {

// One window under one change. Times are nanoseconds since its begin.
class Replay::Run {
 public:
  Run(const Trace& trace, const Window& window, const ReplayChange& change)
      : trace_(trace),
        w_(window),
        change_(change),
        called_(window.items.size()),
        ended_(window.jobs.size()) {}

  double nanoseconds() {
    for (std::size_t i = 0; i < w_.items.size(); ++i) host(i);
    host_ += double(w_.end_ns - (w_.items.empty() ? w_.begin_ns : w_.items.back().end_ns));
    run_jobs(w_.jobs.size());
    return std::max(host_, device_);
  }

 private:
  using Kind = HostItem::Kind;

  void host(std::size_t i) {
    const HostItem& item = w_.items[i];
    const std::int64_t before = i == 0 ? w_.begin_ns : w_.items[i - 1].end_ns;
    const bool merged = change_.one_launch_per_batch && item.launches && item.batch != kNothing;
    if (merged && item.batch == launched_batch_) {  // a part of the batch's launch
      called_[i] = launched_at_;
      return;
    }
    host_ += double(item.begin_ns - before);
    called_[i] = host_;
    if (merged) launched_batch_ = item.batch, launched_at_ = host_;
    switch (item.kind) {
      case Kind::call:
        return call(i);
      case Kind::loader_wait:
        if (!change_.no_loader_waits)
          host_ = std::max(host_, change_.loader_factor * double(item.end_ns - w_.begin_ns));
        return;
      case Kind::ranks_wait:
        host_ += double(item.end_ns - item.begin_ns) - skipped_ns(item);
        return;
      case Kind::step:
        host_ += length(item) *
                 (change_.step_factor ? change_.step_factor(trace_.spans[std::size_t(item.event)]) : 1);
    }
  }

  void call(std::size_t i) {
    const HostItem& item = w_.items[i];
    const double factor =
        change_.call_factor ? change_.call_factor(trace_.calls[std::size_t(item.event)]) : 1;
    if (factor == 0 || (item.synchronises && change_.no_synchronisation)) return;
    if (item.job == kNothing) {
      host_ += factor * length(item);
      return;
    }
    const Job& job = w_.jobs[std::size_t(item.job)];
    const double rest = double(item.end_ns - job.end_ns);  // from the end of the work to that of the call
    const double shortest = host_ + std::min(factor * length(item), rest);
    run_jobs(std::size_t(item.job) + 1);
    const bool waits = !is_gone(job) && !change_.no_synchronisation;
    host_ = waits ? std::max(shortest, ended_[std::size_t(item.job)] + rest) : shortest;
  }

  // Those before `end` that have not run yet. The calls that launched them have begun: they did before the
  // work began, and the host does one thing after another.
  void run_jobs(std::size_t end) {
    for (; next_ < end; ++next_) {
      const Job& job = w_.jobs[next_];
      const double needs = length(job) * factor_of(job) - skipped_in(job);
      if (job.copy != kNothing && is_hidden(job)) {
        ended_[next_] = hidden_ += needs;
        device_ = std::max(device_, hidden_);
      } else if (is_beside(job)) {
        // Its distance to the kernel before it counts once, on the stream that it leaves.
        ended_[next_] = beside_ = std::max(beside_, begin_of(job)) + needs;
        device_ = std::max(device_, beside_);
      } else if (!is_gone(job)) {
        const double begin = joins(job) ? std::max(begin_of(job), beside_) : begin_of(job);
        double& stream = streams_.try_emplace(job.lane, begin).first->second;
        ended_[next_] = begin + needs;
        stream = std::max(stream, ended_[next_]);
        device_ = std::max(device_, stream);
      }
    }
  }

  double begin_of(const Job& job) const {
    std::optional<double> followed;
    if (const auto it = streams_.find(job.lane); it != streams_.end()) followed = it->second;
    for (int other : job.after)
      if (!is_gone(w_.jobs[std::size_t(other)]))
        followed = std::max(followed.value_or(0), ended_[std::size_t(other)]);
    double delay = double(job.after_job_ns);
    if (change_.one_launch_per_batch) delay = std::min(delay, 1e9 * change_.graph_node_s);
    if (job.item == kNothing)  // nobody knows who launched it: it keeps its distance
      return followed ? *followed + delay : double(job.begin_ns - w_.begin_ns);
    const double called = called_[std::size_t(job.item)] + double(job.after_call_ns);
    return followed ? std::max(called, *followed + delay) : called;
  }

  bool is_hidden(const Job& job) const {
    return job.copy != kNothing && change_.hidden && change_.hidden(trace_.copies[std::size_t(job.copy)]);
  }
  bool is_beside(const Job& job) const {
    return job.kernel != kNothing && change_.beside && change_.beside(kernel_of(job));
  }
  bool joins(const Job& job) const {
    return job.kernel != kNothing && change_.joins && change_.joins(kernel_of(job));
  }
  const Trace::Kernel& kernel_of(const Job& job) const { return trace_.kernels[std::size_t(job.kernel)]; }
  bool is_gone(const Job& job) const { return is_hidden(job) || factor_of(job) == 0; }
  double factor_of(const Job& job) const {
    if (job.kernel != kNothing) return change_.kernel_factor ? change_.kernel_factor(kernel_of(job)) : 1;
    return change_.copy_factor ? change_.copy_factor(trace_.copies[std::size_t(job.copy)]) : 1;
  }
  double skipped_in(const Job& job) const {
    if (job.kernel == kNothing || change_.skipped.empty()) return 0;
    return is_exchange_kernel(trace_.text(trace_.kernels[std::size_t(job.kernel)].name)) ? skipped_ns(job)
                                                                                         : 0;
  }
  double skipped_ns(const Trace::Interval& e) const { return double(change_.skipped.clipped(e).length_ns()); }
  static double length(const Trace::Interval& e) { return double(e.end_ns - e.begin_ns); }

  const Trace& trace_;
  const Window& w_;
  const ReplayChange& change_;
  std::vector<double> called_, ended_;  // when each item began, when each job ended
  std::map<int, double> streams_;       // the end of the last job of each
  double host_ = 0, device_ = 0, hidden_ = 0, beside_ = 0, launched_at_ = 0;
  int launched_batch_ = kNothing;
  std::size_t next_ = 0;
};

double Replay::seconds(const ReplayChange& change) const {
  double ns = 0;
  for (const Window& w : windows_) ns += Run(trace_, w, change).nanoseconds();
  return steps_ > 0 ? 1e-9 * ns / steps_ : 0;
}

}  // namespace headroom
