// From a trace to the dependencies that a replay keeps.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "profile/rank_trace.h"
#include "profile/replay.h"

namespace headroom {
namespace {

constexpr std::int64_t kNearNs = 2000;      // a kernel that begins so soon after another's end waited for it
constexpr std::int64_t kUsualGapNs = 1000;  // between kernels of a stream, if none followed another at once
constexpr std::int64_t kLoaderSlackNs = 5000;  // shorter waits for the loader only take its batch

bool call_synchronises(const std::string& name) {
  const bool frees = name.starts_with("cudaFree") || name.starts_with("cuMemFree");  // they wait, too
  return name.find("Synchronize") != std::string::npos || (frees && name.find("Async") == std::string::npos);
}

}  // namespace

class ReplayBuilder {
 public:
  ReplayBuilder(Replay& replay, const Trace& trace, int rank)
      : replay_(replay), trace_(trace), own_(trace, rank) {}

  void build() {
    for (const Trace::Window& window : trace_.windows) {
      if (window.rank != own_.rank() || window.steps == 0) continue;
      replay_.steps_ += window.steps;
      Replay::Window& w = replay_.windows_.emplace_back();
      static_cast<Trace::Interval&>(w) = window;
      add_items(w);
      add_jobs(w);
      widen_launches(w);
      tie_streams(w);
      set_delays(w);
      tie_waits(w);
    }
  }

 private:
  using Kind = Replay::HostItem::Kind;
  static constexpr int kNothing = Replay::kNothing;

  bool begins_in(const Replay::Window& w, const Trace::Interval& e) const {
    return w.begin_ns <= e.begin_ns && e.begin_ns < w.end_ns;
  }

  int host_lane() const {  // of a trace without batches: the thread of the first call
    if (own_.main() >= 0) return own_.main();
    for (const Trace::Call& call : trace_.calls)
      if (own_.contains(call.lane)) return call.lane;
    return kNothing;
  }

  void add_items(Replay::Window& w) const {
    const int host = host_lane();
    const auto add = [&](Kind kind, const Trace::Interval& e, std::size_t number) {
      Replay::HostItem item;
      static_cast<Trace::Interval&>(item) = e;
      item.end_ns = std::min(e.end_ns, w.end_ns);
      item.kind = kind, item.event = int(number);
      w.items.push_back(item);
    };
    for (std::size_t i = 0; i < trace_.calls.size(); ++i)
      if (trace_.calls[i].lane == host && begins_in(w, trace_.calls[i])) add(Kind::call, trace_.calls[i], i);
    for (std::size_t i = 0; i < trace_.spans.size(); ++i) {
      const Trace::Span& span = trace_.spans[i];
      if (span.lane != host || !begins_in(w, span)) continue;
      const std::string& name = trace_.text(span.name);
      if (name == kLoaderWait && span.end_ns - span.begin_ns > kLoaderSlackNs)
        add(Kind::loader_wait, span, i);
      else if (name == kRanksWait)
        add(Kind::ranks_wait, span, i);
    }
    // On a CPU an exchange is a step, and the wait for it lies within: the step is what remains around it.
    std::vector<Trace::Interval> waits(w.items.begin(), w.items.end());
    for (std::size_t i = 0; i < trace_.spans.size() && !own_.has_kernels(); ++i) {
      const Trace::Span& span = trace_.spans[i];
      if (span.kind != SpanKind::step || span.lane != host || !begins_in(w, span)) continue;
      const IntervalSet parts = IntervalSet({{span.begin_ns, span.end_ns}}) - IntervalSet(waits);
      for (const Trace::Interval& part : parts.list()) add(Kind::step, part, i);
    }
    std::ranges::stable_sort(w.items, {}, &Trace::Interval::begin_ns);
    // What lies within another item is a part of it.
    std::int64_t reached = INT64_MIN;
    std::erase_if(w.items, [&](const Replay::HostItem& item) {
      if (item.begin_ns < reached) return true;
      reached = item.end_ns;
      return false;
    });
    set_batches(w, host);
  }

  void set_batches(Replay::Window& w, int host) const {
    std::vector<Trace::Interval> batches;
    for (const Trace::Span& span : trace_.spans)
      if (span.kind == SpanKind::batch && span.lane == host) batches.push_back(span);
    std::size_t batch = 0;
    for (Replay::HostItem& item : w.items) {
      while (batch < batches.size() && batches[batch].end_ns <= item.begin_ns) ++batch;
      if (batch < batches.size() && batches[batch].begin_ns <= item.begin_ns) item.batch = int(batch);
      if (item.kind == Kind::call) item.synchronises = call_synchronises(call_name(item));
    }
  }

  void add_jobs(Replay::Window& w) const {
    std::unordered_map<std::int64_t, int> callers;
    for (std::size_t i = 0; i < w.items.size(); ++i)
      if (w.items[i].kind == Kind::call)
        callers[trace_.calls[std::size_t(w.items[i].event)].correlation] = int(i);
    const auto add = [&](const auto& e, int kernel, int copy) {
      if (!own_.contains(e.lane) || !begins_in(w, e)) return;
      Replay::Job job;
      static_cast<Trace::Interval&>(job) = e;
      job.lane = e.lane, job.kernel = kernel, job.copy = copy;
      const auto caller = callers.find(e.correlation);
      if (caller != callers.end() && w.items[std::size_t(caller->second)].begin_ns <= e.begin_ns)
        job.item = caller->second;
      w.jobs.push_back(std::move(job));
    };
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) add(trace_.kernels[i], int(i), kNothing);
    for (std::size_t i = 0; i < trace_.copies.size(); ++i) add(trace_.copies[i], kNothing, int(i));
    std::ranges::stable_sort(w.jobs, {}, &Trace::Interval::begin_ns);
  }

  // Calls between the launches of a batch are part of its launch, if a captured step would hold them: all but
  // those that wait, and copies between host and device.
  void widen_launches(Replay::Window& w) const {
    for (const Replay::Job& job : w.jobs)
      if (job.kernel != kNothing && job.item != kNothing) w.items[std::size_t(job.item)].launches = true;
    std::vector<bool> stays(w.items.size());
    for (const Replay::Job& job : w.jobs) {
      if (job.copy == kNothing || job.item == kNothing) continue;
      const Trace::CopyKind kind = trace_.copies[std::size_t(job.copy)].kind;
      if (kind == Trace::CopyKind::host_to_device || kind == Trace::CopyKind::device_to_host)
        stays[std::size_t(job.item)] = true;
    }
    std::map<int, std::pair<std::size_t, std::size_t>> launches;  // first and last, by batch
    for (std::size_t i = 0; i < w.items.size(); ++i)
      if (w.items[i].launches) launches.try_emplace(w.items[i].batch, i, i).first->second.second = i;
    for (const auto& [batch, range] : launches)
      for (std::size_t i = range.first; i < range.second; ++i) {
        Replay::HostItem& item = w.items[i];
        item.launches = item.kind == Kind::call && item.batch == batch && !item.synchronises && !stays[i];
      }
  }

  // Jobs of other streams that ended just before this one began.
  void tie_streams(Replay::Window& w) const {
    std::map<int, std::vector<int>> streams;
    for (std::size_t i = 0; i < w.jobs.size(); ++i) {
      Replay::Job& job = w.jobs[i];
      for (const auto& [lane, numbers] : streams) {
        if (lane == job.lane) continue;
        auto last = numbers.rbegin();  // a stream does one thing after another: few are still running
        while (last != numbers.rend() && job_at(w, *last).end_ns > job.begin_ns) ++last;
        if (last == numbers.rend()) continue;
        const Replay::Job& other = job_at(w, *last);
        const bool one_launch = other.item == job.item && job.item != kNothing;
        const bool feeds = (other.copy == kNothing) != (job.copy == kNothing);
        if (job.begin_ns - other.end_ns <= kNearNs && (one_launch || feeds)) job.after.push_back(*last);
      }
      streams[job.lane].push_back(int(i));
    }
  }

  // The end of the last job that this one follows; INT64_MIN: of none.
  static std::int64_t followed_ns(const Replay::Window& w, const Replay::Job& job,
                                  const std::map<int, std::int64_t>& stream_ends) {
    const auto it = stream_ends.find(job.lane);
    std::int64_t last = it == stream_ends.end() ? INT64_MIN : it->second;
    for (int other : job.after) last = std::max(last, w.jobs[std::size_t(other)].end_ns);
    return last;
  }

  void set_delays(Replay::Window& w) const {
    std::int64_t latency[2] = {INT64_MAX, INT64_MAX};  // the shortest from call to begin: kernels, copies
    for (const Replay::Job& job : w.jobs)
      if (job.item != kNothing) {
        std::int64_t& least = latency[job.kernel == kNothing];
        least = std::min(least, job.begin_ns - w.items[std::size_t(job.item)].begin_ns);
      }
    std::vector<std::int64_t> gaps;
    std::vector<bool> waits_for_call(w.jobs.size());
    std::map<int, std::int64_t> stream_ends;
    for (std::size_t i = 0; i < w.jobs.size(); ++i) {
      Replay::Job& job = w.jobs[i];
      const std::int64_t last = followed_ns(w, job, stream_ends);
      job.after_job_ns = last == INT64_MIN ? 0 : job.begin_ns - last;
      if (job.item != kNothing) {
        const std::int64_t called = w.items[std::size_t(job.item)].begin_ns;
        job.after_call_ns = latency[job.kernel == kNothing];
        if (called + job.after_call_ns > last)
          job.after_call_ns = job.begin_ns - called, waits_for_call[i] = true;
      }
      if (!waits_for_call[i] && last != INT64_MIN) gaps.push_back(job.after_job_ns);
      std::int64_t& end = stream_ends.try_emplace(job.lane, INT64_MIN).first->second;
      end = std::max(end, job.end_ns);
    }
    std::ranges::sort(gaps);
    const std::int64_t usual = gaps.empty() ? kUsualGapNs : gaps[gaps.size() / 2];
    for (std::size_t i = 0; i < w.jobs.size(); ++i)
      if (waits_for_call[i]) w.jobs[i].after_job_ns = std::min(w.jobs[i].after_job_ns, usual);
  }

  // The work whose end a call waited for.
  void tie_waits(Replay::Window& w) const {
    std::vector<int> by_end(w.jobs.size());
    for (std::size_t i = 0; i < by_end.size(); ++i) by_end[i] = int(i);
    const auto end_of = [&](int job) { return job_at(w, job).end_ns; };
    std::ranges::stable_sort(by_end, {}, end_of);
    for (std::size_t i = 0; i < w.items.size(); ++i) {
      Replay::HostItem& item = w.items[i];
      if (item.kind != Kind::call) continue;
      const bool waits_for_event = call_name(item).find("EventSynchronize") != std::string::npos;
      const auto after = std::ranges::upper_bound(by_end, item.end_ns, {}, end_of);
      for (auto it = after; it != by_end.begin() && end_of(*std::prev(it)) >= item.begin_ns; --it) {
        const Replay::Job& job = job_at(w, *std::prev(it));
        const bool copies = job.copy != kNothing && job.item == int(i) && copy_blocks(item, job);
        if (!copies && !item.synchronises) continue;
        // The feed records events after copies; without one, any work counts.
        const bool doubtful = waits_for_event && job.copy == kNothing;
        if (item.job == kNothing || !doubtful) item.job = *std::prev(it);
        if (!doubtful) break;
      }
    }
  }

  const std::string& call_name(const Replay::HostItem& item) const {
    return trace_.text(trace_.calls[std::size_t(item.event)].name);
  }
  // A call that copies returns after the copy, unless it only queues it.
  bool copy_blocks(const Replay::HostItem& item, const Replay::Job& job) const {
    return call_name(item).find("Async") == std::string::npos || !trace_.copies[std::size_t(job.copy)].pinned;
  }
  static const Replay::Job& job_at(const Replay::Window& w, int job) { return w.jobs[std::size_t(job)]; }

  Replay& replay_;
  const Trace& trace_;
  const RankTrace own_;
};

Replay::Replay(const Trace& trace, int rank) : trace_(trace) { ReplayBuilder(*this, trace, rank).build(); }

double Replay::measured_s() const {
  double seconds = 0;
  for (const Window& w : windows_) seconds += w.seconds();
  return steps_ > 0 ? seconds / steps_ : 0;
}

}  // namespace headroom
