#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace headroom {

// One way to feed and launch a training epoch.
struct Switches {
  std::string name;
  FeedOptions feed;
  bool capture = true;
};

struct SwitchTiming {
  std::string model;
  std::int64_t batch = 0, images = 0;
  Switches switches;
  std::string feed;  // how batches arrived, in the feed's own words
  double epoch_s = 0;
};

// Every improvement on and off, for the perceptron and for ece408: training epochs on random images, the best
// of `rounds`.
std::vector<SwitchTiming> bench_switches(Device& device, const EngineOptions& options, int rounds,
                                         const std::function<void(const std::string&)>& progress);

// The share of copy time that overlapping hides, over the rows of one model: 1 if streaming costs no more
// than resident images.
double hidden_share(const std::vector<SwitchTiming>& timings, const std::string& model);

}  // namespace headroom
