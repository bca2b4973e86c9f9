#pragma once

#include "profile/step_watch.h"
#include "train/trainer.h"

namespace headroom::cli {

// How many whole steps a watch and those that follow it need.
std::int64_t steps_needed(const StepWatch& watch);

// Tells another observer of a training that ends as soon as a profile has its steps: `of` is their number,
// and not that of the epochs.
class StepsOfProfile final : public TrainObserver {
 public:
  StepsOfProfile(TrainObserver& other, std::int64_t steps) : other_(other), steps_(steps) {}

  void on_step(std::int64_t step, std::int64_t of, double loss) override;
  void on_epoch(const EpochResult& epoch) override { other_.on_epoch(epoch); }
  void on_test(const TestPoint& test) override { other_.on_test(test); }

 private:
  TrainObserver& other_;
  std::int64_t steps_;
};

}  // namespace headroom::cli
