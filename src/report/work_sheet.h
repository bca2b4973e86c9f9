#pragma once

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "bench/work_check.h"

namespace headroom {

enum class WorkRows { all, off };
// A row for each kernel, or for those whose own account is off, with what is off.
Sheet work_sheet(const WorkCheck& check, WorkRows rows);
std::size_t kernels_off(const WorkCheck& check);
// Below the table: how many are off, what was judged, what was left out.
std::string work_notes(const WorkCheck& check);
Json work_check_json(const WorkCheck& check);

}  // namespace headroom
