#pragma once

#include <string>

#include "cli/options.h"
#include "timing/kernel_form.h"
#include "timing/timing_table.h"

namespace headroom::cli {

// `predict gemm --table in.csv`: the times of library kernels, row by row.
struct PredictTableRequest {
  std::string form, table, machine, constants, out;
  std::string precision;  // of all rows, as the user gave it; empty: each row's own
};
void run_predict_table(const PredictTableRequest& request, const Common& common);

// Rejects a precision where the formula has none.
void require_precision_has_meaning(const KernelForm& form, const std::string& precision);
// What the rows are taken to be where neither the table nor the user says it; empty if one of them does.
std::string assumed_group(const TimingTable& table, const KernelForm& form, const std::string& precision);

}  // namespace headroom::cli
