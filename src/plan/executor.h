#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/storage.h"

namespace headroom {

// Told of every step's begin and end. Absent, it costs one branch a step.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void begin(std::size_t step) = 0;
  virtual void end(std::size_t step) = 0;
};

// One arena for all plans of a model: only one runs at a time, so scratch is the maximum, not the sum.
class Arena {
 public:
  explicit Arena(Device& device) : device_(&device) {}
  void reserve(std::size_t bytes);
  std::byte* data() const { return static_cast<std::byte*>(buffer_.data()); }
  std::size_t bytes() const { return buffer_.bytes(); }

 private:
  Device* device_;
  Buffer buffer_;
};

// Runs a plan. Everything is bound when it is made ready; run() allocates nothing.
class Executor {
 public:
  Executor(const Plan& plan, Storage& storage, Arena& arena);

  // Where an input lies for the next run; the caller keeps it alive and unchanged until run() returns.
  void bind(ValueId input, const void* data);

  void run(Recorder* recorder = nullptr);
  // From the second run on, a run without a recorder is one launch of all its steps, where the device can do
  // so: the same kernels at the same addresses. Another input address is another capture; so many are kept.
  void allow_capture(bool on) { capture_ = on; }
  static constexpr std::size_t kMostCaptures = 256;
  std::size_t captures() const { return captures_; }  // made so far
  void run_phase(Phase phase, Recorder* recorder = nullptr);
  // The forward and backward phases of a rank that got no images of a batch: it gives zeros to every
  // exchange.
  void run_empty();
  // These steps alone, by number, in this order, for timing a part: what the others would have written is
  // what an earlier run left there.
  void run_steps(const std::vector<std::size_t>& steps);

  // Runs the forward steps again and names the first layer whose result is not finite; empty when all are.
  std::string first_nonfinite_layer();

  // An output of the graph, as fp64. Valid until the next run of any plan that shares the arena.
  std::vector<double> read(ValueId value) const;
  double read_scalar(ValueId value) const;
  const void* data(ValueId value) const;

  const Plan& plan() const { return plan_; }

 private:
  struct Bound {
    Launcher launch;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::size_t workspace_offset;
    bool has_workspace;
  };
  void resolve();
  void require_bound(ValueId input) const;
  void launch(std::size_t step, Stream& stream);
  void run_captured();
  void run_forked();
  bool finite(const Step& step, const Bound& bound) const;

  Plan plan_;
  Storage& storage_;
  Arena& arena_;
  bool resolved() const { return resolved_ && resolved_for_ == arena_.data(); }
  bool resolved_ = false;
  const std::byte* resolved_for_ = nullptr;  // arena address the pointers were made for; a plan may need none
  std::vector<Bound> bound_;
  std::vector<const void*> inputs_;  // by value id
  bool capture_ = false;
  std::size_t captures_ = 0;
  std::map<int, std::unique_ptr<Event>>
      over_;           // of steps that another stream waits for; kNone: of the second
  bool warm_ = false;  // first launches load code, which a capture must not see
  std::map<std::vector<const void*>, std::unique_ptr<Captured>> captured_;  // by input addresses
};

}  // namespace headroom
