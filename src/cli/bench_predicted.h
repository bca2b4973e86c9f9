#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/sheet.h"
#include "bench/predicted_run.h"

namespace headroom::cli {

// Puts some items at the end of a list.
template <class T>
void append(std::vector<T>& list, std::vector<T> more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Prediction, interval and error of a run beside its measured time: columns of a table, and the same in JSON.
// `of`: which run, if a row has several ("step_"); keys begin with it.
std::vector<Column> predicted_columns(const std::string& of = "", int priority = 1);
std::vector<Cell> predicted_cells(const PredictedRun& run, double measured_s);
void add_predicted(Json& json, const std::string& of, const PredictedRun& run, double measured_s);

// One line below a table with such columns.
std::string predicted_note(TimeModel::Basis basis, const std::string& device);

}  // namespace headroom::cli
