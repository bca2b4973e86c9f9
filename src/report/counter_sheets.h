#pragma once

#include "base/sheet.h"
#include "report/record.h"

namespace headroom {

// What was counted in a step, by layer and by kernel, with the ratios of counters of the same runs. Empty if
// nothing was counted.
Sheet layer_counters_sheet(const RunRecord& record);
Sheet kernel_counters_sheet(const RunRecord& record);

}  // namespace headroom
