#pragma once

#include "base/units.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "train/engine.h"
#include "train/feed.h"
#include "train/metrics.h"

namespace headroom {

struct EvalResult {
  double accuracy = 0;  // of classifiers
  double loss = 0, seconds = 0;
  std::int64_t images = 0;
  Metrics metrics;                 // of classifiers: empty for others
  std::vector<Spread> plan_steps;  // by step of the evaluation plan of a whole batch, as the trainer's
};

// Rejects labels the network has no class for.
EvalResult evaluate(Engine& engine, const Split& split, const Preprocess& preprocess, std::int64_t batch,
                    const FeedOptions& feed = {});

// Rejects data with other than one label for each answer of the network.
void require_labels(const Engine& engine, const Program& program, const Split& split);

// How images reach a network, in training and in evaluation.
LoaderOptions loader_options(const Engine& engine, const Preprocess& preprocess, std::int64_t batch);

// What a classifier tells apart; 0 where the network is none.
std::int64_t classes_of(const Program& program);

}  // namespace headroom
