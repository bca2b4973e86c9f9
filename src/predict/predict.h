#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"
#include "plan/plan.h"

namespace headroom {

// The reading that needs no hardware. The floor comes from what must be done (the schema's cost), the
// prediction from what the chosen kernel does (its work).
struct StepPrediction {
  double floor_s = 0;
  std::string bound;       // what sets the floor: "compute", or the memory level
  double predicted_s = 0;  // 0 where the machine is of another kind than the plan's kernels
};

struct Prediction {
  std::string machine;
  std::vector<StepPrediction> steps;
  double floor_s = 0, predicted_s = 0;
  bool has_times = false;  // false: floors only
};

Prediction predict(const Plan& plan, const Machine& machine);

// Peak rate for products in a precision. Without a unit for it the machine runs it in the next wider one;
// fp32 products may use tensor cores at a third of the fp16 rate (three fp16 products make one of fp32
// accuracy).
double product_peak(const Machine& machine, DType dtype, bool tf32 = false);
double vector_peak(const Machine& machine, DType dtype);

}  // namespace headroom
