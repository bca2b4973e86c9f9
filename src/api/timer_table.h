#pragma once

#include <string>
#include <vector>

#include "headroom/timer.h"

namespace headroom {

// Nested rows are indented below their parent.
std::string timer_table(const std::vector<TimerRow>& rows);

}  // namespace headroom
