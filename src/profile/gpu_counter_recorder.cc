#include "profile/gpu_counter_recorder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace headroom {

GpuCounterRecorder::GpuCounterRecorder(const Plan& plan, std::unique_ptr<RangeCounter> counter,
                                       std::string why_not)
    : counter_(std::move(counter)), heard_(plan.steps.size()), values_(plan.steps.size()) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    counted_.push_back(!schema_of(step.problem.op).collective);
    values_[s][counter_key(0, "launches")] = step.work.launch_count();
    values_[s][counter_key(0, "flops")] = step.work.flops();
    values_[s][counter_key(0, "bytes")] = step.work.bytes();
  }
  if (counter_ == nullptr) {
    refused_ = true;
    notes_.push_back(fmt::format("no counters: {}; amounts are the plan's own", why_not));
    return;
  }
  const CounterPasses& all = counter_->passes();
  for (std::size_t pass = 0; pass < all.passes.size(); ++pass)
    for (std::size_t first = 0; first < counted_.size(); first += kMaxRanges)
      parts_.push_back({pass, first, std::min(counted_.size(), first + kMaxRanges)});
  for (const std::string& name : all.missing)
    notes_.push_back(fmt::format("no {}: {} does not count it", name, all.chip));
  if (all.passes.size() > 1)
    notes_.push_back(fmt::format("counted in {} successive steps: {}", runs(), all.text()));
}

std::int64_t GpuCounterRecorder::runs() const {
  std::int64_t count = 0;
  for (const Part& part : parts_) count += counter_->passes().passes[part.pass].runs;
  return std::max<std::int64_t>(1, count);
}

template <class Work>
void GpuCounterRecorder::attempt(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    notes_.push_back(
        fmt::format("counting ended after {} of {} passes: {}", part_, parts_.size(), error.what()));
    refused_ |= part_ == 0;  // a user without the right may learn it only now
    part_ = parts_.size();
    running_ = pushed_ = false;
  }
}

void GpuCounterRecorder::begin_run() {
  heard_.assign(heard_.size(), false);
  begun_ = true;
  if (part_ >= parts_.size()) return;
  const Part& part = parts_[part_];
  attempt([&] {
    if (!prepared_) counter_->prepare(part.pass, part.last - part.first, RangeMode::pushed);
    prepared_ = true;
    counter_->start();
    running_ = true;
  });
}

void GpuCounterRecorder::end_run() {
  if (!running_) return;
  running_ = false;
  attempt([&] {
    if (!counter_->stop()) return;
    const std::size_t pass = parts_[part_].pass;
    const std::vector<std::string>& names = counter_->passes().passes[pass].counters;
    for (const RangeValues& range : counter_->read())
      for (std::size_t n = 0; n < names.size(); ++n)
        if (std::isfinite(range.values[n]))  // CUPTI has no value for what it could not collect
          values_.at(range.range)[counter_key(pass + 1, names[n])] = range.values[n];
    prepared_ = false;
    ++part_;
  });
}

// A run has begun anew when a step comes for the second time.
void GpuCounterRecorder::begin(std::size_t step, Stream&) {
  if (!open_) return;
  if (!begun_ || heard_[step]) {
    end_run();
    begin_run();
  }
  heard_[step] = true;
  if (!running_ || !counted_[step] || step < parts_[part_].first || step >= parts_[part_].last) return;
  attempt([&] {
    counter_->push(step);
    pushed_ = true;
  });
}

void GpuCounterRecorder::end(std::size_t, Stream& stream) {
  if (!pushed_) return;
  pushed_ = false;
  attempt([&] {
    stream.synchronize();
    counter_->pop();
  });
}

void GpuCounterRecorder::close() {
  end_run();
  open_ = begun_ = false;
}

void GpuCounterRecorder::release() {
  if (counter_ == nullptr) return;
  if (counter_->dropped() > 0)
    notes_.push_back(fmt::format("{} ranges found no room and were not counted", counter_->dropped()));
  if (part_ < parts_.size())
    notes_.push_back(
        fmt::format("only {} of {} passes were counted: the run was too short", part_, parts_.size()));
  parts_.clear();
  counter_.reset();
}

void GpuCounterRecorder::add_to(Measurement& measurement) const {
  for (std::size_t s = 0; s < std::min(values_.size(), measurement.steps.size()); ++s)
    measurement.steps[s].counters = values_[s];
}

}  // namespace headroom
