#pragma once

#include <optional>
#include <vector>

#include "base/json_fwd.h"
#include "train/trainer.h"

namespace headroom {

// The tests of one finished training, from what `train` prints as JSON.
struct RunCurve {
  std::vector<TestPoint> tests;
  std::int64_t steps_per_epoch = 1;
  std::vector<double> epoch_losses;  // mean over each epoch's steps

  double epochs_at(const TestPoint& test) const { return double(test.step) / double(steps_per_epoch); }
  // The first test that reaches an accuracy; null: none does.
  const TestPoint* first_at(double accuracy) const;
};

// Fails if a field is missing: the text is that of another program.
RunCurve run_curve(const Json& training);

}  // namespace headroom
