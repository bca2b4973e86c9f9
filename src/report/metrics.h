#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "train/metrics.h"

namespace headroom {

// Top-k, log-loss, per class precision and recall, and the confusion matrix (rows: what it is).
Json metrics_json(const Metrics& metrics, const std::vector<std::string>& class_names);

// For people: a row per class, the confusion matrix beside it where it fits a screen.
std::string metrics_table(const Metrics& metrics, const std::vector<std::string>& class_names);

}  // namespace headroom
