#pragma once

#include <vector>

#include "base/spans.h"
#include "plan/executor.h"

namespace headroom {

// A span for every step of a plan that runs step by step: its operator and kernel by name, its layer by
// number. A span ends when the device has done the step, so that a GPU that cannot be traced has times, too.
class SpanRecorder final : public Recorder {
 public:
  explicit SpanRecorder(const Plan& plan) {
    for (const Step& step : plan.steps)
      names_.emplace_back(fmt::format("{} {}", step.problem.op, step.kernel ? step.kernel->name : "-"));
  }
  void begin(std::size_t step, Stream&) override {
    if (spans::on()) spans::open(names_[step].id(), SpanKind::step, static_cast<std::int32_t>(step));
  }
  void end(std::size_t, Stream& stream) override {
    if (!spans::on()) return;
    stream.synchronize();
    spans::close();
  }

 private:
  std::vector<SpanName> names_;
};

}  // namespace headroom
