#pragma once

#include <string>
#include <vector>

#include "base/sheet.h"
#include "cli/options.h"
#include "cli/predict_table.h"
#include "train/forecast.h"

namespace headroom::cli {

struct PredictRequest {
  std::string model, machines, batches, mode;
  PredictTableRequest table;  // of `predict gemm --table`
  std::vector<std::string> dims;
  bool csv = false;
  bool copies = false;                   // images come from the host with every step
  std::vector<std::string> of_networks;  // options the user gave that mean nothing for a table of sizes
  Common common;
};
inline bool every_machine(const PredictRequest& r) { return r.machines == "all"; }
// The machines of a request that names them: "t4, h200" with or without blanks.
std::vector<std::string> named_machines(const PredictRequest& r);

// One line of the table: a machine and a batch.
struct PredictRow {
  std::string machine;
  std::int64_t batch = 0;
  Outlook outlook;
};

// A line for each machine of the request. With "all", a machine that cannot is a line with its reason.
std::vector<PredictRow> forecasts(const PredictRequest& r, const Net& net, Mode mode, std::int64_t batch);
Sheet summary_sheet(const std::vector<PredictRow>& rows, const Net& net);
// With "all" without layers and steps: those of one machine are more than the whole table.
Json row_json(const PredictRow& row, bool with_layers);

}  // namespace headroom::cli
