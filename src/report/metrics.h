#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "train/metrics.h"

namespace headroom {

// Top-k, log-loss, precision and recall per class, and the confusion matrix (rows: the true class).
Json metrics_json(const Metrics& metrics, const std::vector<std::string>& class_names);

// A row per class, with the confusion matrix beside it if it fits a screen.
Sheet metrics_sheet(const Metrics& metrics, const std::vector<std::string>& class_names);

}  // namespace headroom
