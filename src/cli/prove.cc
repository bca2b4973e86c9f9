#include "cli/prove.h"

#include "base/text.h"
#include "base/units.h"

namespace headroom::cli {
namespace {

// The word after a setting in a remedy: "`loader-threads` 4: …" has "4".
std::string value_after(const std::string& remedy, std::string_view option) {
  const std::size_t at = remedy.find(option);
  if (at == remedy.npos) return {};
  const std::size_t begin = remedy.find_first_not_of(' ', at + option.size());
  if (begin == remedy.npos) return {};
  return remedy.substr(begin, remedy.find_first_of(" :,;", begin) - begin);
}

bool names(const std::string& remedy, std::string_view option) { return remedy.find(option) != remedy.npos; }

}  // namespace

bool apply_remedy(const std::string& remedy, std::int64_t batch, RunRequest& request, Common& common,
                  double& steps_each) {
  steps_each = 1;
  if (names(remedy, "`loader-threads`")) {
    const std::string value = value_after(remedy, "`loader-threads`");
    if (value.empty() || value.find_first_not_of("0123456789") != value.npos) return false;
    request.loader_threads = std::stoi(value);
  } else if (names(remedy, "`graph`")) {
    common.capture = true;
  } else if (names(remedy, "`resident`")) {
    request.feed.resident = true;
  } else if (names(remedy, "`overlap`")) {
    request.feed.overlap = request.feed.pinned = true;
  } else if (names(remedy, "`pinned`")) {
    request.feed.pinned = true;
  } else if (names(remedy, "`streams`")) {
    common.streams = 2;
  } else if (names(remedy, "`precision`")) {
    common.precision = value_after(remedy, "`precision`");
  } else if (names(remedy, "`batch`")) {
    request.batch = 2 * batch;
    steps_each = 0.5;
  } else {
    return false;
  }
  return true;
}

Sheet proof_sheet(const std::vector<Proof>& proofs) {
  using enum Column::Format;
  Sheet sheet("proofs",
              {{.key = "finding", .title = "finding"},
               {.key = "remedy", .title = "remedy", .left = true, .wrap = true},
               {.key = "before_ms", .title = "step ms", .unit = "ms"},
               {.key = "after_ms", .title = "with it", .unit = "ms"},
               {.key = "expected_ms", .title = "expected gain ms", .unit = "ms"},
               {.key = "measured_ms", .title = "measured gain ms", .unit = "ms"},
               {.key = "expected_of_measured", .title = "expected / measured", .format = hundredths}});
  for (const Proof& p : proofs)
    sheet.row({p.finding.name, with_options(p.finding.remedy), p.before_s * 1e3, p.after_s * 1e3,
               p.finding.gain_s * 1e3, p.measured_gain_s() * 1e3,
               p.measured_gain_s() > 0 ? Cell(p.finding.gain_s / p.measured_gain_s()) : Cell()});
  return sheet;
}

Sheet prove(const RunProfile& profile, const RunRequest& request, const Common& common,
            const ProfileOptions& options, const ProfileAgain& profile_again) {
  const double before = step_parts(profile.trace).step;
  const std::int64_t batch = profile.record.plan ? profile.record.plan->batch : 0;
  std::vector<Proof> proofs;
  for (const Finding& finding : findings_of(profile)) {
    RunRequest changed = request;
    Common with = common;
    double steps_each = 1;
    if (!apply_remedy(finding.remedy, batch, changed, with, steps_each)) continue;
    ProfileOptions again = options;
    again.out.clear(), again.energy = false, again.pm_sampling.reset();
    const std::optional<RunProfile> after = profile_again(changed, with, again);
    if (after) proofs.push_back({finding, before, steps_each * step_parts(after->trace).step});
  }
  if (proofs.empty()) note("headroom: no finding has a remedy that can be tried\n");
  return proof_sheet(proofs);
}

}  // namespace headroom::cli
