#pragma once

#include "base/sheet.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "predict/predict.h"

namespace headroom {

// What a prediction knows of each step's kernel: its unit, the tile of a block, how many blocks there are and
// how many rounds the cores need for them, what the last round wastes, and the times of kernels it was not.
Sheet kernel_sheet(const Plan& plan, const Prediction& prediction, const Machine& machine);

}  // namespace headroom
