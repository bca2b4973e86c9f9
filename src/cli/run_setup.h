#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "data/dataset.h"
#include "headroom/net.h"
#include "train/recipe.h"
#include "train/trainer.h"

namespace headroom::cli {

// What the user typed for a run; absent values come from the recipe, then from the model's defaults.
struct RunRequest {
  std::string model, recipe, data, data_dir, weights, save, record;
  std::string image_size, resize, pixels, normalize, augment;
  int loader_threads = 1;
  std::optional<std::int64_t> train_size, test_size, batch, epochs, hidden;
  std::optional<double> lr, l2, momentum;
  std::optional<bool> shuffle;
  bool nesterov = false;
  double target = 0;
  std::int64_t log_every = 0;
};

// The request with everything filled in and checked.
struct RunSetup {
  Net net;
  std::string data;
  DataOptions data_options;
  TrainOptions train;
  Update update;
  std::optional<Recipe> recipe;
};

void add_data_options(Command verb, RunRequest& request);
void add_loading_options(Command verb, RunRequest& request);  // what only training images undergo
RunSetup resolve(const RunRequest& request, const Common& common);

}  // namespace headroom::cli
