#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/range_counter.h"
#include "profile/step_counts.h"

namespace headroom {

// Counts one pass after the other, each in a run of its own, with a range for every step of the plan. Steps
// in which ranks exchange data are left out: a pass would wait for other ranks. Errors end the counting, not
// the run.
class GpuCounterRecorder final : public StepCounts {
 public:
  // More ranges than this in one run are refused by CUPTI; longer plans take several runs for a pass.
  static constexpr std::size_t kMaxRanges = 1500;

  // `counter` null: the plan's own figures alone, for the reason given.
  GpuCounterRecorder(const Plan& plan, std::unique_ptr<RangeCounter> counter, std::string why_not = "");

  std::int64_t runs() const override;
  void open() override { open_ = true; }
  void close() override;
  void release() override;
  void begin(std::size_t step, Stream& stream) override;
  void end(std::size_t step, Stream& stream) override;
  bool refused() const override { return refused_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  void add_to(Measurement& measurement) const override;

 private:
  // A pass over some of the steps.
  struct Part {
    std::size_t pass, first, last;
  };
  void begin_run();
  void end_run();
  template <class Work>
  void attempt(Work&& work);

  std::unique_ptr<RangeCounter> counter_;
  bool refused_ = false;
  std::vector<bool> counted_;  // by step: not an exchange
  std::vector<Part> parts_;
  std::size_t part_ = 0;
  bool open_ = false, begun_ = false;  // counting; a run has begun
  bool running_ = false, prepared_ = false, pushed_ = false;
  std::vector<bool> heard_;                            // by step, in this run
  std::vector<std::map<std::string, double>> values_;  // by step
  std::vector<std::string> notes_;
};

}  // namespace headroom
