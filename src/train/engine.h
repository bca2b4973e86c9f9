#pragma once

#include <map>
#include <memory>

#include "headroom/net.h"
#include "plan/executor.h"
#include "train/program.h"

namespace headroom {

struct EngineOptions {
  DType precision = DType::f32;
  std::uint64_t seed = 0;
  Update update;
  Chooser choose = first_that_accepts;
  bool keep_gradients = false;
};

// A network ready to run on a device: its weights, and a plan for every (mode, batch) that was asked for. All
// plans share weights and one arena.
class Engine {
 public:
  Engine(Net net, Device& device, EngineOptions options);

  struct Ready {
    Program program;
    std::unique_ptr<Executor> executor;
    const Plan& plan() const { return executor->plan(); }
  };
  Ready& ready(Mode mode, std::int64_t batch);

  // One step: binds the batch and runs. Returns the loss; a loss that is not finite fails, naming step and
  // layer, before any weight is changed.
  // The same without gradients or updates, on a plan of either mode.
  void run_batch(Ready& ready, const void* images, const std::int32_t* labels, Recorder* recorder = nullptr);
  double correct(const Ready& ready) const;  // of the batch just run; 0 where the network is no classifier
  double train_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                    Recorder* recorder = nullptr);

  void set_learning_rate(double rate) { storage_.set_scalar(kLearningRate, rate); }

  // Which update comes next, from 1; train_step says so itself. Nothing where nobody counts.
  void set_step(double step);

  const Net& net() const { return net_; }
  Storage& storage() { return storage_; }
  const Storage& storage() const { return storage_; }
  Device& device() { return device_; }
  const EngineOptions& options() const { return options_; }
  std::size_t arena_bytes() const { return arena_.bytes(); }
  std::int64_t parameter_count() const;
  // What trained weights consist of: parameters, and statistics such as batch_norm's; no optimizer state.
  const std::vector<std::string>& weight_names() const { return weight_names_; }

 private:
  void bind(Ready& ready, const void* images, const std::int32_t* labels);

  Net net_;
  Device& device_;
  EngineOptions options_;
  Storage storage_;
  Arena arena_;
  std::map<std::pair<Mode, std::int64_t>, Ready> ready_;
  std::vector<std::string> weight_names_;
};

}  // namespace headroom
