#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/net.h"

namespace headroom {

// The cost of one layer in one step of a batch. A measured time is 0 if nothing was measured. A predicted
// time is 0 if the kernels for that kind of machine are not known.
struct LayerTimes {
  std::string layer;
  std::string output;  // shape of one item: "6x28x28"
  std::int64_t parameters = 0;
  double flops = 0;                                    // forward, backward and update
  double forward_s = 0, backward_s = 0, update_s = 0;  // measured, medians
  double floor_s = 0;                                  // lower bound for any program on that machine
  double predicted_s = 0;                              // prediction for the chosen kernels
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
  double floor_s = 0, predicted_s = 0;  // of the whole step; predicted_s is 0 if not known
  double items_per_s() const {
    return floor_s > 0 ? static_cast<double>(batch) / floor_s : 0;
  }                          // at the floor
  std::string text() const;  // a table, one line per layer
};

// Predicts the cost of one step of a network on a machine, which need not be this one. `machine` is a name
// from `headroom machine list`, or the path of your own machine file (.json). "here" is this machine; it is
// measured once if necessary (1.5 s), and the result is kept in the cache folder.
CostPrediction predict(const Net& net, const std::string& machine, const PredictSettings& settings = {});

// Names of all known machines.
std::vector<std::string> machines();

}  // namespace headroom
