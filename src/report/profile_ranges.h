#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sheet.h"
#include "profile/trace_scope.h"

namespace headroom {

// All spans with the same names around them, on whatever thread and rank.
struct RangeRow {
  std::vector<std::string> path;  // from the outermost
  SpanKind kind = SpanKind::user;
  std::vector<double> host_ns;  // one per span: the part of it within the windows
  // One per span that launched kernels or copies: from the first begin to the last end of what it launched,
  // the gaps between windows left out. A captured step belongs to the span that launched its graph.
  std::vector<double> gpu_ns;
  std::optional<double> percent_of_parent;  // of host time
};

// In the order of a tree: each range before those within it.
std::vector<RangeRow> range_rows(const Trace& trace, TracePart part = TracePart::windows);
// The ranges with this name, or of this kind ("batch", "phase"), and those within them. Rejects others with
// the nearest names.
std::vector<RangeRow> zoomed(const std::vector<RangeRow>& rows, const std::string& name);
// Total, instances, average, median, min, max, deviation, % of parent; host time beside GPU projection.
Sheet ranges_sheet(const std::vector<RangeRow>& rows);

}  // namespace headroom
