#pragma once

#include <memory>
#include <vector>

#include "profile/sampler.h"
#include "report/record.h"
#include "train/trainer.h"

namespace headroom::cli {

// The cores, the memory and the GPUs of this machine, and this process.
std::vector<std::unique_ptr<SampleSource>> sources_of_run();

// What a record shows over the time of a run: the machine, and the progress of a training. Sampled from
// construction on.
class RunWatch : public TrainObserver {
 public:
  RunWatch();

  void on_step(std::int64_t step, std::int64_t of, double loss) override;
  void on_epoch(const EpochResult& epoch) override;
  void stop();                           // ends the sampling
  void add_to(RunRecord& record) const;  // after that

 private:
  double seconds() const;
  void add_progress(RecordedTraining& training) const;

  double start_s_;
  SampleStore losses_;
  std::vector<double> epoch_end_s_;
  MachineSampler sampler_;
  Samples samples_;
};

// Without series of single cores, and with five digits: what a record keeps.
Samples kept_samples(Samples samples);

}  // namespace headroom::cli
