#pragma once

#include "base/sheet.h"
#include "report/counter_columns.h"
#include "report/record.h"

namespace headroom {

// What was counted in a step, by layer and by kernel, with the ratios of counters of the same runs. Empty if
// nothing was counted.
Sheet layer_counters_sheet(const RunRecord& record);
Sheet kernel_counters_sheet(const RunRecord& record);
// By the kernels that a GPU ran. Those that one step launches in a row are one row: they are counted
// together.
Sheet launch_counters_sheet(const RunRecord& record);

// The same for any rows, and their sum where they add up to something. `first` is the column with their
// names.
enum class RowsAddUp { yes, no };
Sheet counters_sheet(const char* name, Column first, const CountedRows& rows,
                     RowsAddUp add_up = RowsAddUp::yes);

}  // namespace headroom
