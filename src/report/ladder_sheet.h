#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "bench/ladder.h"
#include "report/chart.h"

namespace headroom {

// A row for each rung that ran: times, rates, speed-ups, errors, and on GPUs what limits how many blocks run
// at once.
Sheet ladder_sheet(const LadderRun& run, DeviceKind device);

// Everything that was counted, a row for each rung; empty without counters.
Sheet ladder_counters_sheet(const LadderRun& run);

// The line above the table: the problem, its minimum work and its floor.
std::string ladder_title(const LadderRun& run);

// Below the table: what the columns mean, which rungs are wrong or did not run, and why.
std::string ladder_notes(const LadderRun& run);

// For each rung: the idea, what changed and why, the work by the kernel's own account, and what came of it.
std::string ladder_explanation(const LadderRun& run);

// A bar of milliseconds for each timed rung, on a log axis, with the floor as a line. `note`: device and
// command.
BarChart ladder_chart(const LadderRun& run, std::string note);

Json ladder_json(const LadderRun& run);

}  // namespace headroom
