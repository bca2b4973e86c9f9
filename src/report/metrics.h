#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "train/evaluate.h"

namespace headroom {

// Top-k, log-loss, precision and recall per class, and the confusion matrix (rows: the true class).
Json metrics_json(const Metrics& metrics, const std::vector<std::string>& class_names);

// A row per class, with the confusion matrix beside it if it fits a screen.
Sheet metrics_sheet(const Metrics& metrics, const std::vector<std::string>& class_names);

// Scores of networks that learn targets; null if there are none.
Json target_scores_json(const EvalResult& result);
std::string target_scores_text(const EvalResult& result);  // "mean absolute error 0.12, ..."

}  // namespace headroom
