#pragma once

#include "machine/machine.h"
#include "train/program.h"

namespace headroom {

// A network on its target: the graph with the values a caller uses, the plan that runs, and a report of each
// pass.
struct Built {
  Program program;
  Plan plan;
  std::vector<PassReport> passes;
  std::string explain() const;  // the passes, then why each kernel was chosen and why others refused
};

// The only way from a network to a plan: training, evaluation, inference, prediction and benchmarks all use
// it. The same request gives the same plan, even if the device is not present.
Built build(const Net& net, const BuildRequest& request);

// When the plan makes a value. A fused step makes the loss together with the update.
Phase phase_of(const Plan& plan, ValueId value);

// The first part of `build`, which devices of one kind share, and the rest of it.
struct BuildStart {
  Program program;
  std::vector<PassReport> passes;
};
BuildStart start_build(const Net& net, const BuildRequest& request);
Built finish_build(const BuildStart& start, const Net& net, const BuildRequest& request);
// The same for a plan that is only read: the program's graph is empty, the plan has it.
Built finish_to_read(const BuildStart& start, const Net& net, const BuildRequest& request);

// The capabilities of a machine from the table. For this machine ("here", "here-gpu"), the device itself
// reports them. `threads` of a CPU: 0 means all.
Capabilities capabilities_of(const Machine& machine, int threads = 0);

// A GPU older than any that our own kernels are built for: a plan there uses NVIDIA's kernels only.
bool vendors_only(const Capabilities& device);

// For plans that are read, not run: if there is no kernel, the minimum work replaces it. This covers
// operators without kernels, precisions that a machine lacks, and GPUs too old for our own kernels (the
// vendor's are used there). A kernel forced by the user that refuses is still an error.
Chooser for_reading(const Capabilities& device, Chooser choose);

}  // namespace headroom
