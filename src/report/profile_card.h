#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sheet.h"
#include "profile/gpu_occupancy.h"

namespace headroom {

// How a kernel was launched. Launches that differ in nothing but their time share a card.
struct LaunchCard {
  Trace::Kernel launch;  // the first one
  std::string name, streams;
  std::int64_t launches = 0;
  double first_start_s = 0, last_end_s = 0;               // since the start of the trace
  double average_s = 0;                                   // of one launch
  std::optional<double> queued_s = {}, submitted_s = {};  // before its start, on average
  std::optional<KernelOccupancy> occupancy = {};
  int sm_warps = 0;  // the most that a multiprocessor holds
};

// The cards of one kernel in the trace's windows, the one with the most time first. `kernel` is its name,
// whole or as printed, or a part that no other kernel has. Rejects others with the nearest names.
std::vector<LaunchCard> launch_cards(const Trace& trace, const std::string& kernel,
                                     const std::optional<SmLimits>& limits);
std::string card_text(const std::vector<LaunchCard>& cards);
Sheet card_sheet(const std::vector<LaunchCard>& cards);  // a row per card

}  // namespace headroom
