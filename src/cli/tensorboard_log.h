#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/saving.h"
#include "report/tensorboard.h"
#include "train/schedule.h"
#include "train/trainer.h"

namespace headroom::cli {

// The events of a training for TensorBoard. Every rank has one and only the first writes: reading weights
// that ranks have split needs all of them. A write that fails is noted in `saving`, which stops the run.
class TensorBoardLog : public TrainObserver {
 public:
  TensorBoardLog(const std::string& folder, const Engine& engine, const Dataset& data,
                 const TrainOptions& options, Saving& saving);
  void on_step(std::int64_t step, std::int64_t of, double loss) override;
  void on_epoch(const EpochResult& epoch) override;
  void flush();

 private:
  using Clock = std::chrono::steady_clock;
  void write_scalars(const EpochResult& epoch, std::int64_t step);
  void write_weights(std::int64_t step);

  const Engine& engine_;
  const TrainOptions& options_;
  Saving& saving_;
  std::int64_t images_, steps_each_;  // of an epoch
  Schedule schedule_;
  std::optional<EventFile> file_;
  Clock::time_point flushed_ = Clock::now();
};

}  // namespace headroom::cli
