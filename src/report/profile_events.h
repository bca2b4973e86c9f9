#pragma once

#include "base/sheet.h"
#include "report/profile.h"

namespace headroom {

// TAU's user events: things with a size that happened now and then. Losses, bytes of copies by kind, batches
// that a loader thread prepared, and how long kernels waited between their launch and their begin. About the
// trace's windows, losses about the whole run.
Sheet events_sheet(const RunProfile& profile);

}  // namespace headroom
