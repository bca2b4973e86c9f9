#pragma once

#include <string>
#include <vector>

#include "base/sheet.h"
#include "base/units.h"
#include "plan/plan.h"
#include "predict/predict.h"
#include "profile/measurement.h"

namespace headroom {

// Both readings of one layer: its share of every step, forward, backward and update.
struct LayerReading {
  std::string layer;
  std::string output;  // shape of one item
  std::int64_t parameters = 0;
  double forward_flops = 0, flops = 0;
  double forward_s = 0, backward_s = 0, update_s = 0;  // measured medians; 0: not measured
  double floor_s = 0, predicted_s = 0;
  double low_s = 0, high_s = 0;  // 90 % interval of the prediction
  double predicted_forward_s = 0, predicted_backward_s = 0, predicted_update_s = 0;
  std::string bound;  // the largest part of the floor
  double measured_s() const { return forward_s + backward_s + update_s; }
};

// Joins a plan with both readings of it. With an empty measurement: only floors and predictions.
std::vector<LayerReading> read_layers(const Plan& plan, const Prediction& prediction,
                                      const Measurement& measurement = {});

// The table of the layers. Without a measurement it shows only floors and, if `has_times`, predictions.
Sheet layer_sheet(const std::vector<LayerReading>& layers, bool has_times);
Sheet empty_layer_sheet(bool trains = true);                // with the columns of both readings
Json layers_json(const std::vector<LayerReading>& layers);  // its rows as objects

}  // namespace headroom
