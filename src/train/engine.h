#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "headroom/net.h"
#include "ops/tally/tally.h"
#include "plan/executor.h"
#include "train/program.h"

namespace headroom {

struct EngineOptions {
  DType precision = DType::f32;
  bool tf32 = false;           // fp32 products may round their factors to 11 bits
  bool deterministic = false;  // the same bits every run
  bool capture = true;         // a step is one launch where the device can do so
  int streams = 2;             // of that launch; see plan/streams.h
  std::uint64_t seed = 0;
  Update update;
  Chooser choose = first_that_accepts;
  LayoutWish layout = LayoutWish::automatic;
  bool keep_gradients = false;
  Groups* groups = nullptr;  // the ranks that share the work; null: this process alone
};

// Of a batch that ranks share: what all have together, and how many stand before those of this rank.
struct BatchPlace {
  std::int64_t global = 0, first = 0;
  auto operator<=>(const BatchPlace&) const = default;
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
  Ready& ready(Mode mode, std::int64_t batch, BatchPlace place = {});

  // Binds the batch and runs, without gradients or updates, on a plan of either mode.
  void run_batch(Ready& ready, const void* images, const std::int32_t* labels, Recorder* recorder = nullptr);
  // Of the batch just run, in items: an item of many labels counts by the share that is right. 0 where the
  // network is no classifier.
  double correct(const Ready& ready) const;
  // One step. Returns the loss, of all ranks; a loss that is not finite fails, naming step and layer, before
  // any weight is changed.
  double train_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                    Recorder* recorder = nullptr);
  // The step of a rank that got no images: zeros to every exchange, then the same update as everybody.
  double empty_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step);

  // The same where the device works while the host goes on: queues the step and returns. Losses gather in the
  // tally; one that is not finite is found there, after the fact.
  bool queues() const { return device_.kind() != DeviceKind::cpu; }
  void queue_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                  Recorder* recorder = nullptr);
  std::array<double, kTallyFields> take_tally();  // waits; the sums start again at zero

  // Ranks stop together: each says before a step whether it was told to, and asks after it whether any was.
  void ask_to_stop(bool stop);
  bool anyone_stops(const Ready& ready) const;
  // Statistics that each rank gathered from its own images: their mean, on all ranks.
  void average_statistics();
  Groups* groups() const { return options_.groups; }
  Distribution ranks() const { return groups() ? groups()->distribution() : Distribution{}; }
  bool is_first() const { return groups() == nullptr || groups()->is_first(); }  // who writes files

  void set_learning_rate(double rate);

  // Which update comes next, from 1; train_step says so itself. Nothing where nobody counts.
  void set_step(double step);

  const Net& net() const { return net_; }
  Storage& storage() { return storage_; }
  const Storage& storage() const { return storage_; }
  Device& device() { return device_; }
  // What plans are made for: the device, and what the options allow.
  const Capabilities& capabilities() const { return capabilities_; }
  const EngineOptions& options() const { return options_; }
  std::size_t arena_bytes() const { return arena_.bytes(); }
  std::int64_t parameter_count() const;
  // What trained weights consist of: parameters, and statistics such as batch_norm's; no optimizer state.
  const std::vector<std::string>& weight_names() const { return weight_names_; }

 private:
  double memory_bytes() const;
  void bind(Ready& ready, const void* images, const std::int32_t* labels);

  Net net_;
  Device& device_;
  EngineOptions options_;
  Capabilities capabilities_;
  std::optional<double> rate_;  // the learning rate that the device has
  Storage storage_;
  Arena arena_;
  std::map<std::tuple<Mode, std::int64_t, BatchPlace>, Ready> ready_;
  std::vector<std::string> weight_names_;
};

}  // namespace headroom
