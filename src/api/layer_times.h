#pragma once

#include <vector>

#include "headroom/predict.h"
#include "report/layers.h"

namespace headroom {

std::vector<LayerTimes> layer_times(const std::vector<LayerReading>& readings);

// The same table as the program prints.
std::string layer_times_table(const std::vector<LayerTimes>& layers);

}  // namespace headroom
