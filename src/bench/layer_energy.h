#pragma once

#include <map>
#include <string>

#include "plan/executor.h"
#include "profile/energy_meter.h"

namespace headroom {

// The energy of a plan: of whole runs, and of each layer by repeating its steps.
struct LayerEnergy {
  double run_j = 0, run_s = 0;  // one run of all steps
  double layer_seconds = 0;     // for how long each layer was repeated
  std::map<std::string, double> layer_j = {};
  double sum_j() const;
};

// Repeats each layer's steps for `seconds`; the plan must have run before. Exchanges between ranks are left
// out. Steps that several layers share are divided like their times.
LayerEnergy measure_layer_energy(Executor& executor, Device& device, EnergyMeter& meter, double seconds);

}  // namespace headroom
