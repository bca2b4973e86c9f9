#pragma once

#include <map>
#include <string>
#include <vector>

#include "timing/step_model.h"

namespace headroom {

using StepRows = std::vector<const StepRow*>;

// Constants and corrections of kinds, of kernels in any precision, of families, and "" of all rows.
std::map<std::string, StepCalibration::Kind> fit_kinds(const StepRows& rows);

// Where a step lies among others of its kind. One unit: four times as much of one amount.
std::vector<double> place_of_step(const StepAmounts& amounts);

// Errors and intervals of a calibration whose kinds are fitted: from fits that did not see what they judge.
void judge_calibration(StepCalibration& calibration);

}  // namespace headroom
