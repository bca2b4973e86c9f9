#pragma once

// The parts of a ladder that touch the device: inputs, and one node of an operator that runs on them.

#include "bench/ladder.h"
#include "plan/executor.h"

namespace headroom {

Problem ladder_problem(const std::string& op, const LadderProblem& problem);

// The same random numbers on the host and on the device.
struct LadderInputs {
  LadderInputs(Device& device, const Problem& problem, std::uint64_t seed);
  std::vector<HostTensor> host;
  std::vector<Buffer> buffers;
};

// One problem by one kernel.
struct NodeSpec {
  const Problem& problem;
  const Kernel* kernel;
  std::string variant;
  Target target;
};

class LadderNode {
 public:
  LadderNode(Device& device, const NodeSpec& spec, const std::vector<Buffer>& inputs);

  const Plan& plan() const { return executor_->plan(); }
  const Step& step() const { return plan().steps.at(0); }
  // One run over memory that holds nothing but NaN, so that an element nobody writes is seen. Returns its
  // seconds.
  double run_poisoned();
  std::vector<HostTensor> outputs() const;
  // What the longest kernel of a run looks like on the device; `why_not` is set if nobody can tell.
  std::optional<RungLaunch> trace_launch(std::string& why_not);
  // Counters of one run each; empty, with the reason among the notes, where nobody may count.
  std::optional<CountedWork> count(const std::vector<std::string>& counters, std::vector<std::string>& notes);
  // Times runs, of which the first took `once` seconds, for about `seconds`.
  Sampled sample(double once, double seconds);
  // Each sample one run, with the output zeroed and the device idle before it; what a launch costs is in it.
  Sampled sample_zeroed(double once, double seconds);

 private:
  Device& device_;
  Storage storage_;
  Arena arena_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace headroom
