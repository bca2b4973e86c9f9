#pragma once

// Settings that the command line and the C++ API read in the same way.

#include <string>

#include "machine/roofline.h"
#include "models/zoo.h"
#include "train/engine.h"

namespace headroom {

// "fp64", "fp32", "tf32", "bf16" or "fp16"; rejects any other name and suggests the nearest.
struct Precision {
  DType dtype = DType::f32;  // type of stored activations; a CPU stores bf16 as fp32, see Policy
  bool tf32 = false;
};
Precision parse_precision(const std::string& name);
// Rejects a precision that the machine has no unit for, and says which it has.
void require_machine_precision(const Machine& machine, const Precision& precision, const std::string& name);

void require_threads(int threads);  // of a CPU: 0 means one per core

// The ceilings of the open device: saved ones, or measured now, which takes seconds. `keep`: save them for
// later runs. `warn` hears of a damaged file.
Machine ceilings_of(Device& device, int threads, bool keep = true, const Warn& warn = {});
// A machine by name; "here" is measured if necessary.
Machine machine_named(const std::string& name, int threads, const Warn& warn = {});

// The default update of a model.
Update usual_update(const TrainDefaults& defaults);

}  // namespace headroom
