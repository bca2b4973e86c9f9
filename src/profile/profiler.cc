#include "profile/profiler.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/units.h"
#include "profile/counter_recorder.h"
#include "profile/gpu_counting.h"

namespace headroom {

Profiler::Profiler(std::int64_t steps, bool nvtx, TracerOptions tracer, std::vector<std::string> counters)
    : origin_ns_(spans::now_ns()),
      counters_(std::move(counters)),
      tracer_options_(tracer),
      keeps_tracer_(tracer.counters_follow) {
  watch_.steps = steps;
  tracer_options_.counters_follow |= !counters_.empty();
  spans::start(nvtx);
}

Profiler::~Profiler() {
  if (spans::on()) spans::stop();
}

StepWatch& Profiler::watch(Device& device, const Plan& plan, int rank) {
  device_ = &device, rank_ = rank;
  span_recorder_.emplace(plan);
  const bool queues = device.kind() != DeviceKind::cpu;
  if (queues) {
    try {
      tracer_ = make_kernel_tracer(device, tracer_options_);
    } catch (const Error& error) {
      trace_.notes.push_back(fmt::format("no kernel trace: {}", error.what()));
    }
  }
  // A span per step would make a GPU run step by step: it is for those that do so anyway.
  if (tracer_ != nullptr)
    watch_.recorders = {tracer_.get()};
  else
    watch_.recorders = {&*span_recorder_};
  watch_.attach = [this] { attach(); };
  watch_.begin = [this] {
    trace_.windows.push_back({});
    trace_.windows.back().begin_ns = spans::now_ns() - origin_ns_;
    trace_.windows.back().rank = rank_;
    trace_.windows.back().captured = tracing_;
  };
  watch_.end = [this](std::int64_t count) {
    trace_.windows.back().end_ns = spans::now_ns() - origin_ns_;
    trace_.windows.back().steps = static_cast<int>(count);
  };
  watch_.detach = [this] { detach(); };
  if (!counters_.empty()) count_next(plan);
  return watch_;
}

void Profiler::count_next(const Plan& plan) {
  watch_.next = &counter_watch_;
  counter_watch_ = {.skip = 0, .warm_up = 1, .steps = watch_.steps};
  counter_watch_.attach = [this, &plan] {  // now: all threads were started, and no trace is on
    if (device_->kind() == DeviceKind::cpu)
      counts_ = std::make_unique<CounterRecorder>(counters_, plan.steps.size());
    else
      counts_ = make_gpu_counts(*device_, plan, counters_);
    counter_watch_.recorders = {counts_.get()};
    if (counts_->runs() > 0) counter_watch_.steps = counts_->runs();
  };
  counter_watch_.begin = [this] { counts_->open(); };
  counter_watch_.end = [this](std::int64_t) { counts_->close(); };
  counter_watch_.detach = [this] {
    counts_->release();
    if (!keeps_tracer_) tracer_.reset();  // detaches what it kept for the counters
    done_ = true;
  };
}

void Profiler::attach() {
  if (tracer_ == nullptr) return;
  const std::int64_t begin = spans::now_ns();
  try {
    tracer_->start();
    tracing_ = true;
  } catch (const Error& error) {
    trace_.notes.push_back(fmt::format("no kernel trace: {}", error.what()));
    watch_.recorders = {&*span_recorder_};
  }
  attached_s_ += 1e-9 * double(spans::now_ns() - begin);
}

void Profiler::detach() {
  done_ = watch_.next == nullptr;
  if (!tracing_) return;
  const std::int64_t begin = spans::now_ns();
  tracing_ = false;
  // Calls find their threads among the lanes of spans, which are known at the end.
  tracer_->stop(device_events_, origin_ns_, rank_);
  attached_s_ += 1e-9 * double(spans::now_ns() - begin);
}

Trace Profiler::finish() {
  if (tracing_) detach();
  tracer_.reset();
  const std::vector<ThreadSpans> threads = spans::stop();
  std::size_t count = 0;
  for (const ThreadSpans& thread : threads) count += thread.events.size();
  add_spans(trace_, threads, origin_ns_, rank_);
  append(trace_, device_events_);
  if (counts_ != nullptr)
    std::ranges::copy(counts_->notes(), std::back_inserter(trace_.notes));
  else if (!counters_.empty())
    trace_.notes.push_back("no counters: the run ended before a step could be counted");
  trace_.own_cost_s = attached_s_ + double(count) * span_cost_s();
  return std::move(trace_);
}

void Profiler::add_counters(Measurement& measurement) const {
  if (counts_ != nullptr) counts_->add_to(measurement);
}

double span_cost_s() {
  static const SpanName name("calibration");
  constexpr int kSpans = 2000;
  const bool was_on = spans::on();
  if (was_on) return 0;
  spans::start();
  const std::int64_t begin = spans::now_ns();
  for (int i = 0; i < kSpans; ++i) const Span span(name, SpanKind::user);
  const std::int64_t end = spans::now_ns();
  spans::stop();
  return 1e-9 * double(end - begin) / kSpans;
}

namespace {

bool is_inside(const Trace& trace, const Trace::Interval& event, int rank) {
  const std::int64_t middle = event.begin_ns + (event.end_ns - event.begin_ns) / 2;
  return std::ranges::any_of(trace.windows, [&](const Trace::Window& w) {
    return w.rank == rank && w.begin_ns <= middle && middle < w.end_ns;
  });
}

struct StepEvent {
  double seconds = 0;
  Measurement::Launch launch;
};

// The whole batches of the windows, one by one. On a GPU the host is through with a batch before the device
// is: there only the mean of a window is known.
std::vector<double> whole_batches(const Trace& trace, int rank) {
  std::vector<double> seconds;
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::batch && trace.lanes[static_cast<std::size_t>(span.lane)].rank == rank &&
        is_inside(trace, span, rank))
      seconds.push_back(span.seconds());
  return seconds;
}

// Events of each step, in order of their begin.
template <class Event>
std::vector<std::vector<StepEvent>> by_step(const Trace& trace, const std::vector<Event>& events,
                                            std::size_t steps, int rank) {
  std::vector<std::vector<StepEvent>> all(steps);
  for (const Event& e : events) {
    if (e.step < 0 || static_cast<std::size_t>(e.step) >= steps) continue;
    if (trace.lanes[static_cast<std::size_t>(e.lane)].rank != rank || !is_inside(trace, e, rank)) continue;
    all[static_cast<std::size_t>(e.step)].push_back(
        {e.seconds(), {trace.text(e.name), 1e-9 * double(e.begin_ns), 1e-9 * double(e.end_ns), e.lane}});
  }
  return all;
}

}  // namespace

Measurement measured_steps(const Trace& trace, std::size_t steps, int rank) {
  Measurement result;
  std::size_t runs = 0;
  for (const Trace::Window& w : trace.windows) {
    if (w.rank != rank) continue;
    runs += static_cast<std::size_t>(w.steps);
    result.captured = result.captured || w.captured;
    if (w.steps > 0) result.run_s.push_back(w.seconds() / w.steps);
  }
  if (runs == 0) return {};
  const bool kernels = !trace.kernels.empty();
  result.source = kernels ? Measurement::Source::kernel_trace : Measurement::Source::wall_clock;
  if (!kernels) {
    std::vector<double> batches = whole_batches(trace, rank);
    if (batches.size() == runs) result.run_s = std::move(batches);
  }
  std::vector<Trace::Span> step_spans;
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::step) step_spans.push_back(span);
  const auto events =
      kernels ? by_step(trace, trace.kernels, steps, rank) : by_step(trace, step_spans, steps, rank);
  for (const auto& list : events) {
    Measurement::Step step;
    const std::size_t each = (list.size() + runs - 1) / runs;  // launches of one run
    for (std::size_t first = 0; each > 0 && first + each <= list.size(); first += each) {
      double seconds = 0;
      for (std::size_t i = first; i < first + each; ++i) seconds += list[i].seconds;
      step.seconds.push_back(seconds);
    }
    for (std::size_t i = 0; kernels && i < std::min(each, list.size()); ++i)
      step.launches.push_back(list[i].launch);
    if (step.seconds.empty()) step.seconds.push_back(0);  // a step that launched nothing
    result.steps.push_back(std::move(step));
  }
  double first = 0;
  for (bool begun = false; const Measurement::Step& step : result.steps)
    for (const Measurement::Launch& l : step.launches)
      if (!begun || l.begin_s < first) first = l.begin_s, begun = true;
  for (Measurement::Step& step : result.steps)
    for (Measurement::Launch& l : step.launches) l.begin_s -= first, l.end_s -= first;
  return result;
}

}  // namespace headroom
