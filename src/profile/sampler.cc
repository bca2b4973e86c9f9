#include "profile/sampler.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

std::vector<SeriesInfo> all_series(const std::vector<std::unique_ptr<SampleSource>>& sources) {
  std::vector<SeriesInfo> all;
  for (const auto& source : sources)
    for (SeriesInfo& info : source->series()) all.push_back(std::move(info));
  return all;
}

}  // namespace

MachineSampler::MachineSampler(std::vector<std::unique_ptr<SampleSource>> sources, double interval_s,
                               std::size_t max_rows)
    : sources_(std::move(sources)),
      interval_s_(interval_s),
      start_s_(now_s()),
      store_(all_series(sources_), max_rows) {
  std::size_t series = 0;
  for (const auto& source : sources_) {
    sizes_.push_back(source->series().size());
    series += sizes_.back();
  }
  values_.resize(series);
  // Signals belong to the threads that expect them.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MachineSampler::~MachineSampler() { join(); }

void MachineSampler::join() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Ticks are multiples of the interval since the start, so that they do not drift; late ones are left out.
void MachineSampler::run() {
  sample();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const double tick = std::floor((now_s() - start_s_) / interval_s_) + 1;
    const auto due = Clock::time_point(std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(start_s_ + tick * interval_s_)));
    wake_.wait_until(lock, due, [&] { return stopping_; });
    lock.unlock();
    sample();
    lock.lock();
  }
}

void MachineSampler::sample() {
  std::ranges::fill(values_, kNotRead);
  const double begin = now_s();
  std::size_t at = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    try {
      sources_[i]->read(now_s() - start_s_, std::span(values_).subspan(at, sizes_[i]));
    } catch (const std::exception&) {
      // One failed reading is a gap in its series, not the end of all others.
    }
    at += sizes_[i];
  }
  store_.add(begin - start_s_, values_);
  cost_s_ += now_s() - begin;
}

Samples MachineSampler::stop() {
  join();
  Samples samples = store_.take();
  samples.interval_s = interval_s_;
  samples.cost_s = cost_s_;
  for (const auto& source : sources_)
    for (std::string& text : source->absent()) samples.absent.push_back(std::move(text));
  return samples;
}

}  // namespace headroom
