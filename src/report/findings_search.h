#pragma once

#include <optional>

#include "profile/rank_trace.h"
#include "profile/replay.h"
#include "report/findings.h"

namespace headroom {

// A profile in which findings are searched for: those of the first rank, except a late rank. Each search
// returns nothing if it sees nothing; whether the gain is worth a line is decided for all at once.
struct FindingSearch {
  explicit FindingSearch(const RunProfile& profile, int rank = 0);

  // The gain of a change, in seconds of a step.
  double gain_s(const ReplayChange& change) const { return replay.seconds() - replay.seconds(change); }
  // How much faster a batch of twice the size would make the images of a step, if kernels take as much
  // longer as `kernel_factor` says.
  double doubled_batch_gain_s(std::function<double(const Trace::Kernel&)> kernel_factor) const;
  bool holds(const Trace::Interval& event, int lane) const;  // begins in a window of this rank
  // Settings of headroom do not help a program that is not ours.
  std::string remedy(std::string of_network, std::string of_program) const {
    return is_of_program(profile) ? of_program : of_network;
  }
  Finding finding(std::string name, double seconds, double gain) const;

  const RunProfile& profile;
  const Trace& trace;
  RankTrace own;
  Replay replay;
  StepParts parts;
  bool captured = false;  // kernels were launched by a graph
};

// findings.cc
std::optional<Finding> find_launch_bound(const FindingSearch& search);
std::optional<Finding> find_waiting_loader(const FindingSearch& search);
std::optional<Finding> find_allocations(const FindingSearch& search);
std::optional<Finding> find_late_rank(const RunProfile& profile);
// findings_copies.cc
std::optional<Finding> find_pageable_copies(const FindingSearch& search);
std::optional<Finding> find_bare_copies(const FindingSearch& search);
// findings_kernels.cc
std::optional<Finding> find_small_kernels(const FindingSearch& search);
std::optional<Finding> find_one_stream(const FindingSearch& search);
std::optional<Finding> find_wide_products(const FindingSearch& search);
std::optional<Finding> find_fusible_steps(const FindingSearch& search);

}  // namespace headroom
