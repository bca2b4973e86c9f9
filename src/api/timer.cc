#include "headroom/timer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "api/timer_table.h"
#include "base/error.h"
#include "base/spans.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct Timer::Impl {
  // A place in the nesting: a name below another place. Number 0 is the root.
  struct Place {
    std::string name;
    std::size_t parent = 0;
    std::vector<std::size_t> inner;
    TimerRow row;
  };

  struct Running {
    std::size_t place;
    Clock::time_point start;
    double inner_s = 0;   // of timers that ended inside so far
    bool traced = false;  // it opened a span of the profiler
  };

  mutable std::mutex mutex;
  std::vector<Place> places = std::vector<Place>(1);
  std::map<std::thread::id, std::vector<Running>> threads;  // those with running timers

  std::size_t place_of(const std::string& name, std::size_t parent) {
    for (const std::size_t inner : places[parent].inner)
      if (places[inner].name == name) return inner;
    places.push_back({name, parent, {}, {.name = name}});
    places[parent].inner.push_back(places.size() - 1);
    return places.size() - 1;
  }

  // Returns the number of timers running before it. The clock is read last here and first in stop(), so
  // waiting for other threads is not timed.
  std::size_t start(const std::string& name) {
    const std::lock_guard lock(mutex);
    std::vector<Running>& running = threads[std::this_thread::get_id()];
    const std::size_t place = place_of(name, running.empty() ? 0 : running.back().place);
    running.push_back({place, {}, 0, spans::on()});
    if (running.back().traced) spans::open(SpanName(name).id(), SpanKind::user);
    running.back().start = Clock::now();
    return running.size() - 1;
  }

  void end_last(std::vector<Running>& running, Clock::time_point now) {
    const Running ended = running.back();
    running.pop_back();
    if (ended.traced) spans::close();
    const double seconds = std::chrono::duration<double>(now - ended.start).count();
    if (!running.empty()) running.back().inner_s += seconds;
    TimerRow& row = places[ended.place].row;
    row.min_s = row.calls == 0 ? seconds : std::min(row.min_s, seconds);
    row.max_s = std::max(row.max_s, seconds);
    row.total_s += seconds;
    row.self_s += seconds - ended.inner_s;
    ++row.calls;
  }

  void stop(const std::string& name) {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex);
    const auto it = threads.find(std::this_thread::get_id());
    if (it == threads.end()) reject("timer '{}' is stopped, but none is running on this thread", name);
    const std::string& last = places[it->second.back().place].name;
    if (last != name)
      reject(Hint{fmt::format("stop '{}' first", last)},
             "timer '{}' is stopped, but '{}' was started last on this thread", name, last);
    end_last(it->second, now);
    if (it->second.empty()) threads.erase(it);
  }

  void stop_down_to(std::size_t depth) {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex);
    const auto it = threads.find(std::this_thread::get_id());
    if (it == threads.end()) return;
    while (it->second.size() > depth) end_last(it->second, now);
    if (it->second.empty()) threads.erase(it);
  }

  void collect(std::size_t place, int depth, std::vector<TimerRow>& rows) const {
    for (const std::size_t inner : places[place].inner) {
      TimerRow row = places[inner].row;
      row.depth = depth;
      // A running timer has no times yet, but timers that ended inside it are listed below its name.
      const std::size_t at = rows.size();
      rows.push_back(row);
      collect(inner, depth + 1, rows);
      if (row.calls == 0 && rows.size() == at + 1) rows.pop_back();
    }
  }
};

Timer::Timer() : impl_(std::make_unique<Impl>()) {}
Timer::~Timer() = default;
Timer::Timer(Timer&& other) noexcept = default;
Timer& Timer::operator=(Timer&& other) noexcept = default;

void Timer::start(const std::string& name) { impl_->start(name); }
void Timer::stop(const std::string& name) { impl_->stop(name); }
Timer::Scope Timer::scope(const std::string& name) { return {*this, impl_->start(name)}; }

Timer::Scope::Scope(Scope&& other) noexcept
    : timer_(std::exchange(other.timer_, nullptr)), depth_(other.depth_) {}
Timer::Scope::~Scope() {
  if (timer_ != nullptr) timer_->impl_->stop_down_to(depth_);
}

std::vector<TimerRow> Timer::rows() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<TimerRow> rows;
  impl_->collect(0, 0, rows);
  return rows;
}

std::string Timer::dump() const { return timer_table(rows()); }

void Timer::reset() {
  const std::lock_guard lock(impl_->mutex);
  for (Impl::Place& place : impl_->places) place.row = {.name = place.name};
}

}  // namespace headroom
