#pragma once

#include <string>
#include <vector>

#include "plan/executor.h"
#include "profile/measurement.h"

namespace headroom {

// Counts what each step of a plan makes a device do, in runs that go step by step.
class StepCounts : public Recorder {
 public:
  virtual std::int64_t runs() const { return 0; }  // that it needs; 0: as many as there are
  // The device is idle at both. Runs outside are warm-up.
  virtual void open() {}
  virtual void close() {}
  virtual void release() {}                       // after the last run: gives the device's counters back
  virtual bool refused() const { return false; }  // nothing can be counted on this device
  virtual const std::vector<std::string>& notes() const = 0;  // what could not be counted, and why
  virtual void add_to(Measurement& measurement) const = 0;    // counters of one run of each step
};

}  // namespace headroom
