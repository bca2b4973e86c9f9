#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/trainer.h"

namespace headroom {

// Distance of one weight array between two runs: the norm of the difference over the norm. Means of a batch
// norm count in units of their deviations.
struct ArrayDistance {
  std::string name;
  double relative = 0;      // root of the sum of squares
  double relative_max = 0;  // largest difference over the largest weight
};

// The state of two trainings after the same number of steps.
struct Divergence {
  std::int64_t step = 0;
  double loss = 0, other_loss = 0;
  std::vector<ArrayDistance> arrays;
  double worst() const;
};

// Trains both engines on the same batches in the same order, from the same weights; with `perturb`, those of
// the other differ at first by that share, up or down. Calls `seen` with their distance after steps 1, 2, 5,
// 10, 20, 50, … and after every epoch.
std::vector<Divergence> compare_training(Engine& engine, Engine& other, const Dataset& data,
                                         const TrainOptions& options,
                                         const std::function<void(const Divergence&)>& seen,
                                         double perturb = 0);

// Distances between two engines as they are now.
std::vector<ArrayDistance> weight_distances(Engine& engine, Engine& other);

}  // namespace headroom
