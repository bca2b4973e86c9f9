#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "plan/plan.h"
#include "predict/predict.h"

namespace headroom {

// Both readings of one layer: every step charged to it, forward, backward and update, by share.
struct LayerReading {
  std::string layer;
  std::string output;  // one item of the batch
  std::int64_t parameters = 0;
  double forward_flops = 0, flops = 0;
  double forward_s = 0, backward_s = 0, update_s = 0;  // measured medians; 0 without a measurement
  double floor_s = 0, predicted_s = 0;
  std::string bound;  // what sets the largest part of the floor
  double measured_s() const { return forward_s + backward_s + update_s; }
};

// Joins a plan, its prediction and, where there is one, the measured spread of each step.
std::vector<LayerReading> read_layers(const Plan& plan, const Prediction& prediction,
                                      const std::vector<Spread>& measured = {});

// For people. Without a measurement the table shows floors and predictions alone.
std::string layer_table(const std::vector<LayerReading>& layers, bool has_times);
Json layers_json(const std::vector<LayerReading>& layers);

}  // namespace headroom
