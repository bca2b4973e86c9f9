#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "profile/step_watch.h"
#include "train/engine.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/run_state.h"
#include "train/schedule.h"

namespace headroom {

struct TrainOptions {
  std::int64_t batch = 64, epochs = 1;
  std::int64_t accumulate = 1;  // number of parts that a batch is taken in, one after the other
  double lr = 0.05;
  ScheduleSpec schedule;
  double warmup = 0;  // epochs
  bool shuffle = true;
  std::uint64_t seed = 0;
  Preprocess preprocess;
  Augment augment;  // of the training images
  FeedOptions feed;
  int loader_threads = 1;
  double target = 0;              // > 0: stop at the first test that reaches this accuracy
  std::int64_t eval_every = 0;    // > 0: test after that many steps, too, not only after an epoch
  std::size_t timed_steps = 512;  // steps whose parts are timed, the latest ones
  // For devices that work ahead of the host: the number of first steps that run part by part to be timed, and
  // the max number of steps between two reads of the loss (0: about ten reads a second).
  std::int64_t parts_timed = 10, settle_every = 0;

  std::vector<Recorder*> recorders;  // hear the timed steps, beside the trainer's own
  StepWatch* watch = nullptr;

  RunState start;                             // of a resumed run
  std::int64_t save_every = 0;                // steps; 0: only at the end
  std::function<void(const RunState&)> save;  // null: nothing is saved
  std::function<bool()> stop;                 // called after every step; true ends the run
};

// A test during training. Seconds are those of this process from its first step to here.
struct TestPoint {
  std::int64_t step = 0;
  double train_seconds = 0, eval_seconds = 0;  // both without the other
  double accuracy = 0, loss = 0;               // of the test images
};

struct TrainResult {
  RunState state;
  std::int64_t images = 0;  // trained on in this process; times below too
  double train_seconds = 0, eval_seconds = 0;
  std::vector<double> step_seconds;  // every full step; means over stretches if the device works ahead
  double exchange_seconds = 0, exchange_bytes = 0;  // with several ranks: messages of the timed steps
  std::vector<double> waited_seconds;  // with several ranks, by timed step: waiting for others' data
  std::string feed;                    // how batches reached the device
  bool target_reached = false, stopped = false;
  std::string diverged;     // a sentence that says so; empty: the run did not diverge
  Measurement measurement;  // the measured reading: of the training plan for a whole batch
  EvalResult last_eval;
  std::vector<TestPoint> evaluations;  // all of them, in order
};

// Thrown when a loss is not finite: the run ends there, and nothing of it is saved.
class Diverged : public Error {
 public:
  Diverged(const Error& error, TrainResult result)
      : Error(error.blame(), error.what(), Hint{error.hint()}), so_far(std::move(result)) {}
  TrainResult so_far;
};

// A sentence if a finished run ended with a test loss far above that of guessing, and above its first loss.
std::string divergence_of(const RunState& state, double guessing_loss);

// Hears about progress; must not keep references. Called on the training thread.
struct TrainObserver {
  virtual ~TrainObserver() = default;
  virtual void on_step(std::int64_t /*step*/, std::int64_t /*of*/, double /*loss*/) {}
  virtual void on_epoch(const EpochResult&) {}
  virtual void on_test(const TestPoint&) {}  // within an epoch; at its end on_epoch is called instead
};

// Rejects data that the network cannot learn from: other classes, images that do not fit, fewer items than
// one batch. train() checks this itself; call it before slow work.
void require_trainable(Engine& engine, const Dataset& data, std::int64_t batch, std::int64_t accumulate = 1);

// The plan for this rank's share of a batch, or for one image if its share is empty. With `accumulate` above
// 1: for the last of the batch's parts.
Engine::Ready& ready_to_train(Engine& engine, std::int64_t batch, std::int64_t accumulate = 1);

// How training images reach a network.
LoaderOptions training_loader(const Engine& engine, const TrainOptions& options);

TrainResult train(Engine& engine, const Dataset& data, const TrainOptions& options, TrainObserver& observer);

}  // namespace headroom
