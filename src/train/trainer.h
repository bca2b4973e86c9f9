#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "train/engine.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/run_state.h"
#include "train/schedule.h"

namespace headroom {

struct TrainOptions {
  std::int64_t batch = 64, epochs = 1;
  double lr = 0.05;
  ScheduleSpec schedule;
  double warmup = 0;  // epochs
  bool shuffle = true;
  std::uint64_t seed = 0;
  Preprocess preprocess;
  Augment augment;  // of the training images
  FeedOptions feed;
  int loader_threads = 1;
  double target = 0;              // > 0: stop after the epoch that reaches this test accuracy
  std::size_t timed_steps = 512;  // steps whose parts are timed, the latest ones
  // Where the device works ahead of the host: so many of the first steps run part by part, to be timed, and
  // the loss is read at least every so many steps (0: about ten times a second).
  std::int64_t parts_timed = 10, settle_every = 0;

  RunState start;                             // of a run that is taken up again
  std::int64_t save_every = 0;                // steps; 0: never but at the end
  std::function<void(const RunState&)> save;  // absent: nothing is saved
  std::function<bool()> stop;                 // asked after every step; true ends the run there
};

struct TrainResult {
  RunState state;
  std::int64_t images = 0;  // trained on in this process, as are the times
  double train_seconds = 0, eval_seconds = 0;
  std::vector<double> step_seconds;  // every full step; means over stretches where the device works ahead
  double exchange_seconds = 0, exchange_bytes = 0;  // of several ranks: messages of the timed steps
  std::vector<double> waited_seconds;  // of several ranks, by timed step: waiting for the others' data
  std::string feed;                    // how batches reached the device
  bool target_reached = false, stopped = false;
  // Medians of the timed steps, by step of the training plan: the measured reading.
  std::vector<Spread> plan_steps;
  EvalResult last_eval;
};

// Told of progress; must not keep references. Called on the training thread.
struct TrainObserver {
  virtual ~TrainObserver() = default;
  virtual void on_step(std::int64_t /*step*/, std::int64_t /*of*/, double /*loss*/) {}
  virtual void on_epoch(const EpochResult&) {}
};

// Rejects data that the network cannot learn from: other classes, images that do not fit, fewer than one
// batch. train() checks by itself; callers who do something slow before it can ask first.
void require_trainable(Engine& engine, const Dataset& data, std::int64_t batch);

// The plan for this rank's share of a batch, or for one image where it gets none.
Engine::Ready& ready_to_train(Engine& engine, std::int64_t batch);

// How training images reach a network.
LoaderOptions training_loader(const Engine& engine, const TrainOptions& options);

TrainResult train(Engine& engine, const Dataset& data, const TrainOptions& options, TrainObserver& observer);

}  // namespace headroom
