#pragma once

#include "base/sheet.h"
#include "bench/ladder.h"

namespace headroom {

// The same rungs in two orders: one idea on top of the other, from the baseline to the fastest rung of this
// device's own; and each idea that changes the baseline, alone. Without a timed baseline the sheet is empty.
Sheet ladder_ideas(const LadderRun& run);

}  // namespace headroom
