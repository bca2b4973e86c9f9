#pragma once

// What the sheets of counters share: sums of a row, and columns that are made of them.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/sheet.h"
#include "report/record.h"

namespace headroom {

// The sums of one row.
struct Counted {
  std::map<std::string, double> counters = {};
  double bytes = 0;                 // the least traffic
  double seconds = 0, floor_s = 0;  // measured without counters; 0: unknown
  int warp_slots = 0;               // of a multiprocessor; 0: unknown

  // The values of all these counters; on a GPU those of one pass. Empty if they were not counted together.
  std::optional<std::vector<double>> together(const std::vector<std::string>& names) const;
  void add(const Counted& other, double share = 1);
};

// A column that is there if a row has all its counters.
struct CounterColumn {
  Column column;
  std::vector<std::string> needs;
  std::function<Cell(const std::vector<double>&, const Counted&)> value;  // of the counters in `needs`

  Cell cell(const Counted& counted) const {
    const auto values = counted.together(needs);
    return values ? value(*values, counted) : Cell();
  }
};

Cell ratio_of(double numerator, double denominator, double scale = 1);  // empty if it divides by 0
CounterColumn plain_column(const char* counter, const char* key, const char* title, double scale,
                           Column::Format format, int priority = 0);
// Rows in the order in which their first step runs; empty if nothing was counted.
using CountedRows = std::vector<std::pair<std::string, Counted>>;
CountedRows counted_kernels(const RunRecord& record);  // by operator and kernel of the plan
CountedRows counted_layers(const RunRecord& record);   // a layer gets its share of a fused step
// By the kernels that the device ran for a step, in their order; empty without a kernel trace.
CountedRows counted_launches(const RunRecord& record);

// In gpu_counter_columns.cc.
std::vector<CounterColumn> gpu_counter_columns();
std::vector<CounterColumn> gpu_ratio_columns();                      // of them, those that are ratios
std::vector<CounterColumn> metric_columns(const CountedRows& rows);  // of metrics that CUPTI names

}  // namespace headroom
