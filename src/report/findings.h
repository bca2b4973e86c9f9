#pragma once

#include "base/table_view.h"
#include "report/profile.h"

namespace headroom {

// Something in the profiled steps that costs time and can be changed.
struct Finding {
  std::string name;    // "launch-bound step"
  std::string text;    // what was seen, with numbers
  std::string remedy;  // what to try: an option where there is one
  double share = 0;    // of the step that it concerns
  double gain_s = 0;   // expected, of a step: the trace was replayed without that cost
  double step_s = 0;   // measured
  double gain_percent() const { return step_s > 0 ? 100 * gain_s / step_s : 0; }
};

// Those that promise more than 1 % of the step, the largest gain first. Gains do not add up: two findings may
// be about the same time.
std::vector<Finding> findings_of(const RunProfile& profile);

std::string findings_text(const std::vector<Finding>& findings, const TableView& view);
Sheet findings_sheet(const std::vector<Finding>& findings);

}  // namespace headroom
