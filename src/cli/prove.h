#pragma once

#include <functional>
#include <optional>

#include "cli/profile_run.h"
#include "cli/run_setup.h"
#include "report/findings.h"

namespace headroom::cli {

// A finding whose remedy was tried.
struct Proof {
  Finding finding;
  double before_s = 0, after_s = 0;  // of a step; of the same number of images
  double measured_gain_s() const { return before_s - after_s; }
};

// Changes a request as the remedy of a finding says. False if it names nothing that a run can change.
// `batch` is the size of the profiled batch; `steps_each`: steps that now do the work of one.
bool apply_remedy(const std::string& remedy, std::int64_t batch, RunRequest& request, Common& common,
                  double& steps_each);

Sheet proof_sheet(const std::vector<Proof>& proofs);

// Profiles a changed request. Nothing if it cannot be run so, as a batch that the network's file fixes.
using ProfileAgain =
    std::function<std::optional<RunProfile>(const RunRequest&, const Common&, const ProfileOptions&)>;

// Runs the remedies of a profile's findings, one by one: what each was worth.
Sheet prove(const RunProfile& profile, const RunRequest& request, const Common& common,
            const ProfileOptions& options, const ProfileAgain& profile_again);

}  // namespace headroom::cli
