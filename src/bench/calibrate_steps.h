#pragma once

#include <functional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "timing/step_model.h"
#include "train/engine.h"

namespace headroom {

struct CalibrateOptions {
  std::vector<EngineOptions> engines;  // one for each precision; probes take them in turn
  double seconds = 60;                 // for the probes; the fit comes on top
  std::uint64_t rivals_every = 3;  // of so many probes of a precision one has kernels not first of their list
};

// How the probe of a number runs: in one of the precisions, and with which kernels.
EngineOptions probe_options(const CalibrateOptions& options, std::uint64_t number);

// Times the steps of random networks on a device, training and inference in turn, and fits constants to them.
// No counters, no rights needed. `progress` is told the share of the time that has passed, and the probe.
StepCalibration calibrate_steps(Device& device, const Machine& machine, const CalibrateOptions& options,
                                const std::function<void(double, const std::string&)>& progress);

}  // namespace headroom
