#pragma once

#include <optional>

#include "base/units.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "profile/measurement.h"
#include "profile/step_watch.h"
#include "train/engine.h"
#include "train/feed.h"
#include "train/metrics.h"
#include "train/target_metrics.h"

namespace headroom {

struct EvalResult {
  double accuracy = 0;  // of classifiers
  double loss = 0, seconds = 0;
  std::int64_t images = 0;
  Metrics metrics;                             // of classifiers; else empty
  std::optional<RegressionScores> regression;  // of networks with these losses
  std::optional<LabelScores> labels;
  Measurement measurement;  // of the evaluation plan for a whole batch
};

// Rejects labels for which the network has no class. `recorders` hear every whole batch, beside evaluate's
// own timer; while `watch` is attached, its recorders alone do.
EvalResult evaluate(Engine& engine, const Split& split, const Preprocess& preprocess, std::int64_t batch,
                    const FeedOptions& feed = {}, std::vector<Recorder*> recorders = {},
                    StepWatch* watch = nullptr);

// Rejects data unless it has one label per answer of the network.
void require_labels(const Engine& engine, const Program& program, const Split& split);

// How images reach a network, in training and in evaluation.
LoaderOptions loader_options(const Engine& engine, const Preprocess& preprocess, std::int64_t batch);

// Number of classes of a classifier; 0 if the network is not one.
std::int64_t classes_of(const Program& program);

}  // namespace headroom
