#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/net.h"

namespace headroom {

// What one layer costs in one step of a batch. Measured times are 0 where nothing was measured, predicted
// times where the machine is of a kind whose kernels are not known.
struct LayerTimes {
  std::string layer;
  std::string output;  // extents of one item: "6x28x28"
  std::int64_t parameters = 0;
  double flops = 0;                                    // forward, backward and update
  double forward_s = 0, backward_s = 0, update_s = 0;  // measured, medians
  double floor_s = 0;                                  // no program takes less on that machine
  double predicted_s = 0;                              // what the chosen kernels should take
  std::string bound;                                   // what sets the floor: "compute" or a memory level
  double measured_s() const { return forward_s + backward_s + update_s; }
};

struct PredictSettings {
  std::int64_t batch = 64;
  std::string mode = "train";  // or "eval": the forward pass alone
  std::string precision = "fp32";
  std::string optimizer = "sgd:momentum=0.9";
  int threads = 0;  // of the CPU kernels; 0: one per core
};

struct CostPrediction {
  std::string machine;
  std::int64_t batch = 0;
  std::vector<LayerTimes> layers;
  double floor_s = 0, predicted_s = 0;  // of the whole step; predicted_s 0: not known
  double items_per_s() const {
    return floor_s > 0 ? static_cast<double>(batch) / floor_s : 0;
  }                          // at the floor
  std::string text() const;  // a table, one line per layer
};

// What one step of a network costs on a machine that need not be here. Machines are named as in
// `headroom machine list`; a path ending in .json is a machine of your own; "here" is measured first, once,
// if it is not known yet (1.5 s), and kept in the cache folder.
CostPrediction predict(const Net& net, const std::string& machine, const PredictSettings& settings = {});

// The names there are.
std::vector<std::string> machines();

}  // namespace headroom
