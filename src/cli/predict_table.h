#pragma once

#include <string>

#include "cli/options.h"

namespace headroom::cli {

// `predict gemm --table in.csv`: the times of library kernels, row by row.
struct PredictTableRequest {
  std::string form, table, machine, constants, out;
  std::string precision;  // of all rows, as the user gave it; empty: each row's own
};
void run_predict_table(const PredictTableRequest& request, const Common& common);

}  // namespace headroom::cli
