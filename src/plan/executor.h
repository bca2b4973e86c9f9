#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/storage.h"

namespace headroom {

// Hears the begin, end and stream of every step. Without recorders this costs one branch per step.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void begin(std::size_t step, Stream& stream) = 0;
  virtual void end(std::size_t step, Stream& stream) = 0;
  // True: it hears the steps of a captured run once, during capture, on both streams; each launch then
  // replays what it queued there. False: its presence makes a run go step by step.
  virtual bool hears_captures() const { return false; }
};

// All recorders of a run.
using Recorders = std::span<Recorder* const>;

// One arena for all plans of a model. Only one plan runs at a time, so the size is the maximum, not the sum.
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

// Runs a plan. The constructor prepares every launch; run() allocates nothing.
class Executor {
 public:
  // `groups`: the ranks that take part in the plan's exchanges; null: a single process.
  Executor(const Plan& plan, Storage& storage, Arena& arena, Groups* groups = nullptr);

  // Sets an input's address for the next run. The caller keeps the data unchanged until run() returns.
  void bind(ValueId input, const void* data);

  void run(Recorders recorders = {});
  // Runs one after the other, as one launch if the device can capture and this is not the first run. Each has
  // the addresses of its inputs, by value id, as inputs() gives them.
  using Inputs = std::vector<const void*>;
  void run_together(std::span<const Inputs> runs);
  const Inputs& inputs() const { return inputs_; }
  // From the second run on, a run is one launch of all its steps, if the device can capture and every
  // recorder hears captures: the same kernels at the same addresses. Another input address, or another list
  // of recorders, needs another capture.
  void allow_capture(bool on) { capture_ = on; }
  static constexpr std::size_t kMaxCaptures = 256;
  std::size_t captures() const { return captures_; }  // number of captures made
  void drop_captures() { captured_.clear(); }         // the next run captures anew
  void run_phase(Phase phase, Recorders recorders = {});
  // The forward and backward phases of a rank that got no images of a batch: it contributes zeros to every
  // exchange.
  void run_empty();
  // Runs only these steps, by number, in this order, to time a part. They read what an earlier run left in
  // the outputs of the other steps.
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
  void run_captured(Recorders recorders);
  // The captured work for this key, captured now if it is new; null if the device cannot capture.
  Captured* captured(const Inputs& key, Recorders recorders, const std::function<void()>& work);
  void bind_all(const Inputs& inputs);
  void run_forked(Recorders recorders);
  bool finite(const Step& step, const Bound& bound) const;

  Plan plan_;
  Storage& storage_;
  Arena& arena_;
  bool resolved() const { return resolved_ && resolved_for_ == arena_.data(); }
  bool resolved_ = false;
  const std::byte* resolved_for_ = nullptr;  // arena address the pointers were made for; a plan may need none
  std::vector<Bound> bound_;
  Inputs inputs_;  // by value id
  bool capture_ = false;
  std::size_t captures_ = 0;
  std::map<int, std::unique_ptr<Event>>
      over_;           // events of steps that another stream waits for; below 0: of the ends of streams
  bool warm_ = false;  // first launches load code, which a capture must not see
  std::map<Inputs, std::unique_ptr<Captured>> captured_;  // by input addresses, of all runs in one launch
  Inputs key_;                                            // of run_together
  std::vector<Recorder*> heard_by_;                       // the recorders present at capture
};

}  // namespace headroom
