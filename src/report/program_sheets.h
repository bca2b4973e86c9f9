#pragma once

#include "base/sheet.h"
#include "inject/records.h"
#include "profile/trace.h"

namespace headroom {

// Tables of a program that is not ours, beside those that every profile has.

// Everything that the processes did from their first use of CUDA to their end: kernels, copies, calls and
// NVTX ranges by name, the largest first, inside and outside the window.
Sheet whole_run_sheet(const std::vector<inject::ProcessRecord>& processes);

// Time of each kernel per step, for comparisons: as many rows as there are names.
Sheet step_kernels_sheet(const Trace& trace);

// Kernels of a step by the NVTX range that launched them. Without rows if no kernel has one.
Sheet range_kernels_sheet(const Trace& trace);

// What was recorded and what was not, a line each.
std::string processes_text(const std::vector<inject::ProcessRecord>& processes, const TableView& view);

}  // namespace headroom
