#pragma once

#include "base/sheet.h"
#include "report/counter_columns.h"
#include "report/record.h"

namespace headroom {

// Kernels of a GPU in the order in which work on them pays: by the milliseconds of a step above the floor,
// with the places by two scores, and what the counters say about the reason. Empty without counters.
Sheet tuning_sheet(const RunRecord& record);
Sheet tuning_sheet(const CountedRows& rows, const char* title);  // title of the column with their names

}  // namespace headroom
