#include "api/layer_times.h"

#include <algorithm>

namespace headroom {

std::vector<LayerTimes> layer_times(const std::vector<LayerReading>& readings) {
  std::vector<LayerTimes> layers;
  for (const LayerReading& r : readings)
    layers.push_back({.layer = r.layer,
                      .output = r.output,
                      .parameters = r.parameters,
                      .flops = r.flops,
                      .forward_s = r.forward_s,
                      .backward_s = r.backward_s,
                      .update_s = r.update_s,
                      .floor_s = r.floor_s,
                      .predicted_s = r.predicted_s,
                      .bound = r.bound});
  return layers;
}

std::string layer_times_table(const std::vector<LayerTimes>& layers) {
  std::vector<LayerReading> readings;
  for (const LayerTimes& l : layers)
    readings.push_back({.layer = l.layer,
                        .output = l.output,
                        .parameters = l.parameters,
                        .flops = l.flops,
                        .forward_s = l.forward_s,
                        .backward_s = l.backward_s,
                        .update_s = l.update_s,
                        .floor_s = l.floor_s,
                        .predicted_s = l.predicted_s,
                        .bound = l.bound});
  const bool predicted = std::any_of(layers.begin(), layers.end(), [](auto& l) { return l.predicted_s > 0; });
  return layer_sheet(readings, predicted).text();
}

}  // namespace headroom
