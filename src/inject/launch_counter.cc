#include "inject/launch_counter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <numeric>

namespace headroom::inject {

LaunchCounter::LaunchCounter(std::unique_ptr<RangeCounter> counter, std::mutex& mutex, Aggregator& to,
                             Clock now)
    : counter_(std::move(counter)), mutex_(mutex), to_(to), now_(std::move(now)), began_(now_()) {
  find_passes();
}

double LaunchCounter::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A pass that takes several runs would have to repeat kernels of the program.
void LaunchCounter::find_passes() {
  const CounterPasses& all = counter_->passes();
  std::vector<std::string> counters;
  for (std::size_t p = 0; p < all.passes.size(); ++p) {
    const CounterPass& pass = all.passes[p];
    if (pass.runs != 1) {
      for (const std::string& name : pass.counters)
        note("no " + name + ": it takes more than one run of a kernel, and nothing runs twice");
      continue;
    }
    const bool instrumented = std::ranges::any_of(
        pass.metrics, [](const std::string& metric) { return metric.find("_sass_") != metric.npos; });
    passes_.push_back({p, counters.size(), instrumented});
    counters.push_back(counter_key(p + 1, "launches"));
    for (const std::string& name : pass.counters) counters.push_back(counter_key(p + 1, name));
  }
  for (const std::string& name : all.missing) note("no " + name + ": " + all.chip + " does not count it");
  order_.resize(passes_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const std::lock_guard lock(mutex_);
  to_.set_counters(std::move(counters));
}

void LaunchCounter::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  to_.note(text);
}

template <class Work>
void LaunchCounter::attempt(Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    note("counting ended after " + std::to_string(windows_) + " windows: " + error.what());
    open_ = false;
    counter_.reset();
  }
}

// Each round has every pass once, in another order: a step as long as some windows meets all of them.
std::size_t LaunchCounter::next_pass() {
  if (next_ == order_.size()) {
    std::ranges::shuffle(order_, random_);
    next_ = 0;
  }
  return order_[next_++];
}

std::size_t LaunchCounter::launches_of_window() const {
  if (passes_[pass_].instrumented) return kInstrumentedLaunches;
  return windows_ < passes_.size() ? kFirstLaunches : kLaunches;
}

// Every pass has a window, whatever it takes.
bool LaunchCounter::may_open() const {
  if (counter_ == nullptr || passes_.empty()) return false;
  return windows_ < passes_.size() || spent_ < kDenseSeconds || spent_ < kShare * (now_() - began_);
}

void LaunchCounter::open(bool whole) {
  pass_ = next_pass();
  room_ = whole ? 1 : launches_of_window();
  launches_.clear();
  spoiled_ = false, whole_ = whole;
  opened_ = now_();
  attempt([&] {
    counter_->prepare(passes_[pass_].number, room_, whole ? RangeMode::pushed : RangeMode::kernels);
    counter_->start();
    if (whole) counter_->push(0);
    open_ = true;
  });
}

void LaunchCounter::close() {
  if (!open_) return;
  open_ = false;
  ++windows_;
  attempt([&] { read_window(); });
  spent_ += now_() - opened_;
  const std::lock_guard lock(mutex_);
  to_.header().counting.windows = static_cast<std::int64_t>(windows_);
  to_.header().counting.launches = static_cast<std::int64_t>(seen_);
}

void LaunchCounter::lose(const std::string& why) {
  note("a window of counters was left out: " + why);
  const std::lock_guard lock(mutex_);
  ++to_.header().counting.lost_windows;
}

void LaunchCounter::read_window() {
  const std::size_t dropped = counter_->dropped();
  if (whole_) counter_->pop();
  if (!counter_->stop()) return lose("CUPTI asked for another run of its kernels");
  std::vector<RangeValues> ranges = counter_->read();
  if (spoiled_) return lose("two threads launched kernels at the same time");
  if (counter_->dropped() != dropped) return lose("CUPTI had no room for all kernels");
  std::ranges::stable_sort(ranges, {}, &RangeValues::range);
  if (ranges.size() != launches_.size())
    return lose("CUPTI has " + std::to_string(ranges.size()) + " ranges for " +
                std::to_string(launches_.size()) + " launches");
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < ranges.size(); ++i) add(launches_[i], ranges[i].values);
}

void LaunchCounter::add(const Launch& launch, const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return;
  std::vector<double> all = {1};
  all.insert(all.end(), values.begin(), values.end());
  to_.count(launch.kernel, launch.range, launch.size, passes_[pass_].first, all);
  ++to_.header().counting.counted;
}

void LaunchCounter::launch(Launch launch) {
  ++seen_;
  if (open_ && (whole_ || launches_.size() == room_)) close();
  if (!open_) {
    if (!may_open()) return;
    open(false);
  }
  if (open_) launches_.push_back(std::move(launch));
}

void LaunchCounter::graph(std::string range) {
  ++seen_;
  close();
  if (!may_open()) return;
  open(true);
  if (open_) launches_.push_back({kWholeGraph, std::move(range)});
}

void LaunchCounter::exchange() {
  ++seen_;
  close();
  const std::lock_guard lock(mutex_);
  ++to_.header().counting.exchanges;
}

void LaunchCounter::pause() { close(); }

void LaunchCounter::spoil() { spoiled_ = true; }

void LaunchCounter::finish() {
  close();
  counter_.reset();
  const std::lock_guard lock(mutex_);
  to_.header().counting.launches = static_cast<std::int64_t>(seen_);
}

}  // namespace headroom::inject
