#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headroom/data.h"
#include "headroom/net.h"
#include "headroom/profile.h"
#include "headroom/timer.h"

namespace headroom {

struct ModelSettings {
  std::string device = "cpu";
  std::string precision = "fp32";  // or "fp64"; on GPUs also "tf32", "bf16" and "fp16"
  std::uint64_t seed = 0;          // of the initial weights, dropout and the order of the images
  int threads = 0;                 // 0: one per core
};

struct TrainSettings {
  std::int64_t epochs = 1, batch = 64;
  double lr = 0;                      // 0: 0.05 for sgd and adadelta, 0.001 for the others
  std::string optimizer = "sgd";      // with settings: "sgd:momentum=0.9", "adam:beta1=0.8"
  bool nesterov = false;              // sgd
  double l2 = 0;                      // penalty on weights, not on biases
  std::string schedule = "constant";  // "cosine", "step:every=10,gamma=0.1": see headroom train --help
  double warmup = 0;                  // epochs of linear growth to the learning rate
  bool shuffle = true;                // every epoch
  std::string augment;                // "crop,flip" of the training images
  int loader_threads = 1;
  double target = 0;                // > 0: stop after the epoch that reaches this test accuracy
  std::vector<std::string> freeze;  // parameters that stay as they are: names with * and ?
};

// One epoch. Accuracies are 0 if the network is not a classifier.
struct Epoch {
  std::int64_t number = 0;    // from 1
  double loss = 0;            // mean over the epoch's steps, as they ran
  double train_accuracy = 0;  // of those steps
  double test_accuracy = 0, test_loss = 0;
  double seconds = 0;  // training alone
};

struct Training {
  std::vector<Epoch> epochs;
  std::int64_t steps = 0;
  double first_loss = 0, last_loss = 0;
  double images_per_s = 0;
  bool target_reached = false;
};

struct Evaluation {
  double accuracy = 0, top5_accuracy = 0;  // of classifiers
  double loss = 0;
  std::int64_t images = 0;
  double seconds = 0;
  std::vector<std::int64_t> confusion;  // classes x classes; row: the true class
};

// The output of the last layer, one row per item. A classifier returns logits.
struct Scores {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> values;
  std::span<const float> row(std::int64_t i) const {
    return std::span(values).subspan(static_cast<std::size_t>(i * columns),
                                     static_cast<std::size_t>(columns));
  }
  std::int64_t best(std::int64_t i) const;  // the column of a row's highest score
};

// A network with weights on a device. Call it from one thread at a time; it starts its own threads. A call
// that fails throws an Error (headroom/error.h) and leaves the weights unchanged.
class Model {
 public:
  explicit Model(Net net, const ModelSettings& settings = {});
  ~Model();
  Model(Model&& other) noexcept;
  Model& operator=(Model&& other) noexcept;

  // Each call is a separate run: it starts from the current weights, with a fresh optimizer. `on_epoch` is
  // called on this thread. If the loss stops being finite, an Error names the layer, and the weights stay as
  // they were before that step.
  Training train(const Data& data, const TrainSettings& settings = {},
                 const std::function<void(const Epoch&)>& on_epoch = {});

  Evaluation evaluate(const Data& data, std::int64_t batch = 256);  // on the test items

  // Takes any number of items. Each has the shape of the network's input.
  Scores predict(std::span<const float> items);
  // Prepares the pixels as `like` prepares its own. Each item has the shape of the items of `like`.
  Scores predict(std::span<const std::uint8_t> pixels, const Data& like);

  void save(const std::string& path) const;  // safetensors
  void load(const std::string& path);        // all weights, matched by name and shape, or none

  // Describes the last training. Floors are for this machine, which is measured first if necessary (1.5 s).
  Profile profile() const;

  // Holds the times of train, evaluate, predict, save and load. Your own timers nest around them and appear
  // in the same profile.
  Timer& timer();

  const Net& net() const;
  std::int64_t parameter_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
