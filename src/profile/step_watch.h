#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/executor.h"

namespace headroom {

// A stretch of whole steps that someone watches as they really run. Attached after `skip` steps, it is warm
// after `warm_up` more; the device is idle at begin and end. Short batches and evaluations interrupt it: then
// it ends and begins again.
struct StepWatch {
  std::int64_t skip = 4, warm_up = 3, steps = 20;
  std::vector<Recorder*> recorders = {};  // hear the steps from attach on; they must hear captures
  std::function<void()> attach = {}, begin = {};
  std::function<void(std::int64_t steps)> end = {};  // steps since begin
  std::function<void()> detach = {};                 // after the last step watched, or at the end of the run
  StepWatch* next = nullptr;                         // begins once all steps of this one were watched
};

}  // namespace headroom
