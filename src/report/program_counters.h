#pragma once

#include "inject/records.h"
#include "profile/trace.h"
#include "report/counter_columns.h"

namespace headroom {

// Counters of a program's kernels in a step: counted in one run of the program, joined with the times of
// another.
struct ProgramCounts {
  CountedRows kernels, ranges;  // those that take most time first; empty: nothing was counted
  std::vector<std::string> notes;
};

// A kernel of the traced run has the counters of its launches in the other run with the same range and size;
// else of those with the same size, else with the same range, else of all. Kernels of graphs are one row.
ProgramCounts program_counts(const Trace& trace, const std::vector<inject::ProcessRecord>& counted);

// By kernel, by range, and the order in which work on the kernels pays. Those without rows are left out.
std::vector<Sheet> program_counter_sheets(const ProgramCounts& counts);

}  // namespace headroom
