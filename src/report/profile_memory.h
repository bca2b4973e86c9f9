#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/sheet.h"
#include "report/record.h"

namespace headroom {

// The memory of a step, from the record of a run. A record without memory gives sheets without rows and an
// empty chart.

// One row per kind: the most that any step has alive, and what the peak has. Then all kinds together, the
// arena (planned beside alive: the difference is rounding and gaps), and what the run really took.
Sheet memory_sheet(const RunRecord& record);

// What the arena holds at the peak, largest first: from the step that writes a value to the last step that
// reads it. An empty last step: the value is read after the run.
Sheet alive_sheet(const RunRecord& record);

// Parts of the layers in the peak, by kind. They add up to the peak.
Sheet layer_memory_sheet(const RunRecord& record);
std::map<std::string, std::int64_t> peak_bytes_by_layer(const RunRecord& record);

// The bytes alive over the steps of the plan.
std::string memory_chart(const RunRecord& record, const TableView& view);

}  // namespace headroom
