#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "train/engine.h"

namespace headroom {

struct TrainOptions {
  std::int64_t batch = 64, epochs = 1;
  double lr = 0.05;
  bool shuffle = true;
  std::uint64_t seed = 0;
  Preprocess preprocess;
  Augment augment;         // of the training images
  int loader_threads = 1;
  double target = 0;              // > 0: stop after the epoch that reaches this test accuracy
  std::size_t timed_steps = 512;  // steps whose parts are timed, the latest ones
};

struct EpochResult {
  std::int64_t epoch = 0;
  double loss = 0;            // mean over the epoch's steps, as they ran
  double train_accuracy = 0;  // of the epoch's steps, as they ran: each batch before its update
  double test_accuracy = 0;   // after the epoch
  double seconds = 0;         // training alone
};

struct TrainResult {
  std::vector<EpochResult> epochs;
  double first_loss = 0, last_loss = 0;
  std::int64_t steps = 0, images = 0;
  double train_seconds = 0, eval_seconds = 0;
  std::vector<double> step_seconds;  // every full step
  bool target_reached = false;
  // Medians of the timed steps, by step of the training plan: the measured reading.
  std::vector<Spread> plan_steps;
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

TrainResult train(Engine& engine, const Dataset& data, const TrainOptions& options, TrainObserver& observer);

struct EvalResult {
  double accuracy = 0, loss = 0, seconds = 0;
  std::int64_t images = 0;
};
// Rejects labels the network has no class for.
EvalResult evaluate(Engine& engine, const Split& split, const Preprocess& preprocess, std::int64_t batch);

}  // namespace headroom
