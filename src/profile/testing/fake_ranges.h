#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "profile/range_counter.h"

namespace headroom::testing {

// A GPU that counts nothing: a value tells pass, counter and range. The log shows the order of calls.
class FakeRanges final : public RangeCounter {
 public:
  FakeRanges(CounterPasses passes, std::string& log, std::size_t fails_in_pass = 99)
      : log_(log), fails_in_pass_(fails_in_pass), passes_(std::move(passes)) {}
  const CounterPasses& passes() const override { return passes_; }
  void prepare(std::size_t pass, std::size_t max_ranges, RangeMode) override {
    pass_ = pass, left_ = passes_.passes[pass].runs;
    log_ += fmt::format("[{}:{}", pass, max_ranges);
  }
  void start() override {
    if (pass_ == fails_in_pass_) throw Error(Blame::run, "the GPU is busy");
    ranges_.clear();
    log_ += "(";
  }
  void push(std::size_t range) override { ranges_.push_back(range), log_ += std::to_string(range); }
  void pop() override { log_ += "."; }
  bool stop() override {
    log_ += ")";
    return --left_ == 0;
  }
  std::vector<RangeValues> read() override {
    log_ += "]";
    std::vector<RangeValues> all;
    for (const std::size_t range : ranges_) {
      all.push_back({range, {}});
      for (std::size_t n = 0; n < passes_.passes[pass_].counters.size(); ++n)
        all.back().values.push_back(double(100 * (pass_ + 1) + 10 * n + range));
    }
    return all;
  }

 private:
  std::string& log_;
  std::size_t fails_in_pass_, pass_ = 0;
  int left_ = 0;
  std::vector<std::size_t> ranges_;
  CounterPasses passes_;
};

}  // namespace headroom::testing
