#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "profile/counted_work.h"

namespace headroom {

// What a GPU counted beside the kernel's own account, and how many times as much it is: FLOPs of whole tiles,
// bytes through L2, bytes from and to memory. For any table with a row for each kernel.
std::vector<Column> work_columns();
std::vector<Cell> work_cells(const Work& work, const std::optional<CountedWork>& counted);
Json work_json(const Work& work, const CountedWork& counted);

// Below such a table: what the columns mean.
std::string work_note();

}  // namespace headroom
