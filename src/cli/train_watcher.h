#pragma once

#include <string>
#include <vector>

#include "cli/progress.h"
#include "train/trainer.h"

namespace headroom::cli {

// Shows the progress of a training, and tells others of it.
class TrainWatcher final : public TrainObserver {
 public:
  TrainWatcher(const std::string& title, std::int64_t epochs, std::int64_t log_every, bool classifier)
      : progress_(title), epochs_(epochs), log_every_(log_every), classifier_(classifier) {}

  void tell(TrainObserver* other);  // null: nobody
  void on_step(std::int64_t step, std::int64_t of, double loss) override;
  void on_epoch(const EpochResult& epoch) override;
  void on_test(const TestPoint& test) override;

 private:
  Progress progress_;
  std::int64_t epochs_, log_every_;
  bool classifier_;
  std::vector<TrainObserver*> others_;
};

}  // namespace headroom::cli
