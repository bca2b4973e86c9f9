#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/trainer.h"

namespace headroom {

// How far one weight array of a run is from that of another: the norm of the difference over the norm.
struct ArrayDistance {
  std::string name;
  double relative = 0;      // root of squares
  double relative_max = 0;  // largest difference over the largest weight
};

// Two trainings in step, as far as they have come.
struct Divergence {
  std::int64_t step = 0;
  double loss = 0, other_loss = 0;
  std::vector<ArrayDistance> arrays;
  double worst() const;
};

// Trains both engines on the same batches in the same order, from the same weights, and tells how they drift
// apart: after steps 1, 2, 5, 10, 20, 50, … and at the end of every epoch. `seen` hears of each.
std::vector<Divergence> compare_training(Engine& engine, Engine& other, const Dataset& data,
                                         const TrainOptions& options,
                                         const std::function<void(const Divergence&)>& seen);

// Of two engines as they stand.
std::vector<ArrayDistance> weight_distances(Engine& engine, Engine& other);

}  // namespace headroom
