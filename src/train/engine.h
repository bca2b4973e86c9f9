#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "headroom/net.h"
#include "ops/tally/tally.h"
#include "plan/executor.h"
#include "plan/tuner.h"
#include "train/build.h"

namespace headroom {

struct EngineOptions {
  DType precision = DType::f32;
  bool tf32 = false;           // fp32 products may round their factors to 11 bits
  bool deterministic = false;  // the same bits every run
  bool capture = true;         // run a step as one launch if the device can
  int streams = 3;             // in a captured step; see plan/streams.h
  std::uint64_t seed = 0;
  Update update;
  double label_smoothing = 0;  // of training
  Chooser choose = first_that_accepts;
  LayoutWish layout = LayoutWish::automatic;
  bool keep_gradients = false;
  Groups* groups = nullptr;       // the ranks that share the work; null: this process alone
  TuningTable* tuning = nullptr;  // tuned winners; null: a table of this process
  Tuner::Watch on_tuning = {};    // called before each problem that is timed
};

// The place of a share in a batch: items of all ranks and steps, and items before the first here.
struct BatchPlace {
  std::int64_t global = 0, first = 0;
  Accumulate accumulate = Accumulate::none;
  auto operator<=>(const BatchPlace&) const = default;
};

// Rejects what the CPU does not compute in, and says what it has.
void require_cpu_precision(const Capabilities& cpu, DType precision, bool tf32);

// The target for which an engine with these options makes plans. The device need not be present. `ranks`: the
// ranks that share the work.
Target target_of(const Capabilities& device, const EngineOptions& options, const Distribution& ranks = {});

// The request such an engine passes to `build`.
BuildRequest build_request(const EngineOptions& options, const Target& target, Mode mode, std::int64_t batch,
                           BatchPlace place = {});

// What to try if a run diverges.
inline constexpr const char* kCalmer = "try a smaller `lr`, a longer `warmup`, or `clip-norm` 1";

// A loss that is not a number, or infinite.
class LossNotFinite : public Error {
 public:
  using Error::Error;
};

// A network ready to run on a device: its weights, and a plan for every (mode, batch) requested so far. All
// plans share the weights and one arena.
class Engine {
 public:
  Engine(Net net, Device& device, EngineOptions options);

  struct Ready {
    Program program;
    std::vector<PassReport> passes;
    std::unique_ptr<Executor> executor;
    const Plan& plan() const { return executor->plan(); }
    std::string explain() const;  // its passes, and why each kernel was chosen
  };
  Ready& ready(Mode mode, std::int64_t batch, BatchPlace place = {});

  // Binds the batch and runs, without gradients or updates, on a plan of either mode.
  void run_batch(Ready& ready, const void* images, const std::int32_t* labels, Recorders recorders = {});
  // Correct items of the last batch; an item with many labels counts by its share of correct ones. 0 if the
  // network is not a classifier.
  double correct(const Ready& ready) const;
  // One step. Returns the loss over all ranks. A loss that is not finite is an error that names step and
  // layer; no weight is changed.
  double train_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                    Recorders recorders = {});
  void forget_gradients();  // before the first of several steps that add theirs up: see Accumulate
  // The step of a rank without images: it gives zeros to every exchange, then updates like the others.
  double empty_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step);

  // For devices that work while the host goes on: queues the step and returns. The tally collects the losses;
  // a loss that is not finite is found there later.
  bool queues() const { return device_.kind() != DeviceKind::cpu; }
  void queue_step(Ready& ready, const void* images, const std::int32_t* labels, std::int64_t step,
                  Recorders recorders = {});
  // Several steps in one launch, where that pays: the updates of `ready` do not count steps, and its steps
  // are few, so that the pause between launches counts.
  bool joins_steps(const Ready& ready) const;
  struct StepInput {
    const void* images = nullptr;
    const std::int32_t* labels = nullptr;
  };
  void queue_steps(Ready& ready, std::span<const StepInput> steps);
  static constexpr std::size_t kStepsTogether = 16;
  std::array<double, kTallyFields> take_tally();  // waits; resets the sums to zero

  // Ranks stop together: each says before a step if it was told to stop and asks after it if any was.
  void ask_to_stop(bool stop);
  bool anyone_stops(const Ready& ready) const;
  // Averages over all ranks the statistics that each rank collected from its own images.
  void average_statistics();
  Groups* groups() const { return options_.groups; }
  Distribution ranks() const { return groups() ? groups()->distribution() : Distribution{}; }
  bool is_first() const { return groups() == nullptr || groups()->is_first(); }  // this rank writes files

  void set_learning_rate(double rate);

  // Sets the number of the next update, from 1; train_step does so itself. Ignored if no optimizer counts.
  void set_step(double step);

  const Net& net() const { return net_; }
  Storage& storage() { return storage_; }
  const Storage& storage() const { return storage_; }
  Device& device() { return device_; }
  const Target& target() const { return target_; }  // what plans are made for
  // A plan and its memory, with every variant chosen: from the table, or by timing now.
  Ready make_ready(const BuildRequest& request, Arena& arena);
  const EngineOptions& options() const { return options_; }
  std::size_t arena_bytes() const { return arena_.bytes(); }
  std::int64_t parameter_count() const;
  // Trained weights: parameters, and statistics such as batch_norm's; not the optimizer state.
  const std::vector<std::string>& weight_names() const { return weight_names_; }

 private:
  double memory_bytes() const;
  void bind(Ready& ready, const void* images, const std::int32_t* labels);

  Net net_;
  Device& device_;
  EngineOptions options_;
  Target target_;
  std::optional<double> rate_;  // the learning rate now on the device
  Storage storage_;
  Arena arena_;
  std::map<std::tuple<Mode, std::int64_t, BatchPlace>, Ready> ready_;
  std::vector<std::string> weight_names_;
  std::vector<Executor::Inputs> runs_;  // of queue_steps
};

}  // namespace headroom
