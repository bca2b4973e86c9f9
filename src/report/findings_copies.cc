// What copies between host and device cost.
#include <algorithm>
#include <set>

#include "base/units.h"
#include "report/findings_search.h"

namespace headroom {
namespace {

bool finding_is_upload(const Trace::Copy& copy) { return copy.kind == Trace::CopyKind::host_to_device; }
// Single numbers are copied through the driver's own buffer, whatever memory they are in. What is read back,
// such as a loss, does not go through the feed.
constexpr std::int64_t kWorthPinning = 16 << 10;
bool finding_is_pageable(const Trace::Copy& copy) {
  return finding_is_upload(copy) && !copy.pinned && copy.bytes >= kWorthPinning;
}

// Bytes per second of uploads from pinned memory: the machine's, else the best in the trace; 0: unknown.
double finding_pinned_rate(const FindingSearch& search) {
  if (const std::optional<Machine>& machine = search.profile.record.machine) {
    const Machine::HostLink& link = machine->host_link;
    if (link.upload > 0 || link.bytes_per_s > 0) return link.upload > 0 ? link.upload : link.bytes_per_s;
  }
  double best = 0;
  for (const Trace::Copy& c : search.trace.copies)
    if (finding_is_upload(c) && c.pinned && c.seconds() > 0)
      best = std::max(best, double(c.bytes) / c.seconds());
  return best;
}

struct FindingCopySum {
  double seconds = 0, bytes = 0;  // per step
};
template <class Wanted>
FindingCopySum finding_copies(const FindingSearch& search, Wanted&& wanted) {
  FindingCopySum sum;
  for (const Trace::Copy& c : search.trace.copies) {
    if (!wanted(c) || !search.holds(c, c.lane)) continue;
    sum.seconds += c.seconds() / search.parts.steps, sum.bytes += double(c.bytes) / search.parts.steps;
  }
  return sum;
}

}  // namespace

std::optional<Finding> find_pageable_copies(const FindingSearch& search) {
  const FindingCopySum sum = finding_copies(search, finding_is_pageable);
  if (sum.seconds <= 0) return {};
  const double rate = finding_pinned_rate(search);
  std::set<std::int64_t> callers;
  for (const Trace::Copy& c : search.trace.copies)
    if (finding_is_pageable(c)) callers.insert(c.correlation);
  const ReplayChange change{.copy_factor =
                                [&](const Trace::Copy& c) {
                                  if (!finding_is_pageable(c) || rate <= 0 || c.seconds() <= 0) return 1.0;
                                  return std::min(1.0, double(c.bytes) / rate / c.seconds());
                                },
                            // From pinned memory the call only queues the copy.
                            .call_factor =
                                [&](const Trace::Call& c) {
                                  const bool queues =
                                      search.trace.text(c.name).find("Async") != std::string::npos;
                                  return queues && callers.contains(c.correlation) ? 0.0 : 1.0;
                                }};
  Finding f = search.finding("pageable copies", sum.seconds, search.gain_s(change));
  f.text = fmt::format("{} of a step are uploaded from pageable memory at {}", human_bytes(sum.bytes),
                       si(sum.bytes / sum.seconds, "B/s"));
  if (rate > 0) f.text += fmt::format("; pinned memory allows {}", si(rate, "B/s"));
  f.remedy = search.remedy("`pinned`", "pinned memory for what is uploaded");
  return f;
}

// Uploads from pinned memory during which nothing else runs.
std::optional<Finding> find_bare_copies(const FindingSearch& search) {
  const auto fits = [](const Trace::Copy& c) { return finding_is_upload(c) && c.pinned; };
  const FindingCopySum sum = finding_copies(search, fits);
  if (sum.seconds <= 0 || search.parts.copies <= 0) return {};
  std::set<int> computing;
  for (const Trace::Kernel& k : search.trace.kernels) computing.insert(k.lane);
  const bool beside = std::ranges::none_of(search.trace.copies, [&](const Trace::Copy& c) {
    return fits(c) && search.holds(c, c.lane) && computing.contains(c.lane);
  });
  Finding f = search.finding("copies not hidden", search.parts.copies, search.gain_s({.hidden = fits}));
  f.text =
      fmt::format("{} of a step are uploaded in {}; nothing else runs during {} of copies",
                  human_bytes(sum.bytes), human_seconds(sum.seconds), human_seconds(search.parts.copies));
  f.remedy =
      search.remedy(beside ? "`resident`: keeps the data set on the device if it fits and is not augmented"
                           : "`overlap`: copies the next batch during the computation",
                    "a stream for copies: the next batch during the computation, or data that stay on the "
                    "device");
  return f;
}

}  // namespace headroom
