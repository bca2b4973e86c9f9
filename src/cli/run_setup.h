#pragma once

#include <optional>
#include <string>

#include "cli/live_options.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/record_files.h"
#include "data/dataset.h"
#include "headroom/net.h"
#include "train/recipe.h"
#include "train/trainer.h"

namespace headroom::cli {

// The user's words for a run; missing values come from the recipe, then from the model's defaults.
struct RunRequest {
  std::string model, recipe, data, data_dir, weights, save, save_onnx;
  RecordFiles files;
  std::string image_size, resize, pixels, normalize, augment;
  std::string optimizer, schedule, loss, init;
  std::string checkpoint_dir, resume, save_precision;
  std::vector<std::string> dims;  // open dimensions of an ONNX file
  std::vector<std::string> freeze;
  std::string tensorboard;    // a folder
  std::string check_against;  // a device, and a precision after a slash
  double perturb = 0;         // relative change of the other run's first weights
  std::string wild;           // images:DIR, outside images to test the trained network on
  int loader_threads = 1;
  std::optional<std::int64_t> train_size, test_size, batch, epochs, hidden;
  std::optional<std::int64_t> checkpoint_every, keep;
  std::optional<std::int64_t> accumulate;
  std::optional<double> lr, l2, weight_decay, momentum, warmup, clip_norm, label_smoothing;
  std::optional<bool> shuffle;
  FeedOptions feed;
  ParallelOptions ranks;
  LiveOptions live;
  bool nesterov = false, new_head = false, keep_best = false;
  std::optional<double> target;
  std::int64_t log_every = 0, eval_every = 0;
};

// The request with all values filled in and checked.
struct RunSetup {
  std::string model;       // the spec, and its network
  std::string loss, init;  // set by the user; empty: the model's own
  Net net;
  std::string data;
  DataOptions data_options;
  TrainOptions train;
  Update update;
  double label_smoothing = 0;
  std::optional<Recipe> recipe;
  std::vector<std::string> kernels;  // the recipe's, as "op=name"
  std::optional<DType> save_precision;

  std::string spec() const;  // the model as it can be named again; empty for a file
};

void add_data_options(Command verb, RunRequest& request);
void add_loading_options(Command verb, RunRequest& request);  // preprocessing of training images only
RunSetup resolve(const RunRequest& request, const Common& common);

// Loads the data. If the data decides part of the model (its channels, its classes), sets the network too.
// Evaluation does not need training images.
Dataset load_data(RunSetup& setup, bool test_alone, const RankRun* ranks = nullptr);

// The pictures of --wild, for a network that learns `data`.
Split load_outside(const std::string& spec, const Dataset& data, const RunSetup& setup);

}  // namespace headroom::cli
