#pragma once

#include <string>
#include <vector>

#include "comm/groups.h"
#include "plan/plan.h"
#include "train/trainer.h"

namespace headroom {

// What one rank did in a step, as means over the timed steps, in seconds.
struct RankTimes {
  double step = 0, compute = 0;    // the whole, and all of it but waiting for others' data
  double exchange = 0;             // messages under way, waiting for whoever came later included
  double exposed = 0, hidden = 0;  // of these: seen as waiting, and not
  double slowest = 0;              // share of the steps in which nobody computed for longer
  double stored_bytes = 0;         // weights and optimizer state that this rank keeps
};

// What a plan gives to a group in one step.
struct GroupTraffic {
  std::string group;
  int ranks = 1;
  std::int64_t bytes = 0, calls = 0;
  std::int64_t report_bytes = 0;   // among these: loss and the like
  std::int64_t one_way_bytes = 0;  // and what is scattered or gathered, half a sum each
  // Counting 2 b for a sum of b bytes, without what is reported.
  std::int64_t two_way_bytes() const { return 2 * (bytes - report_bytes) - one_way_bytes; }
};

struct RanksReport {
  Distribution distribution;
  std::vector<RankTimes> ranks;
  std::vector<GroupTraffic> planned;
  bool timed = false;                         // not where whole steps are queued: then the times below are 0
  std::int64_t planned_bytes = 0;             // a step
  double counted_bytes = 0;                   // a step, by this rank's communicators
  double bus_bytes_per_s = 0;                 // 2 (p - 1) / p of the bytes over the time of the exchanges
  double copy_seconds = 0, copy_exposed = 0;  // GPU memory through the host, all steps
  double saved_bytes = 0;                     // optimizer state that this rank need not keep
  std::string transport;                      // "mpi", "nccl"
};

// All ranks call it; each gets the same.
RanksReport report_ranks(const Engine& engine, const Plan& plan, const TrainResult& result);

// Bytes that a plan's steps give to each group.
std::vector<GroupTraffic> traffic_of(const Plan& plan, const Distribution& distribution);

}  // namespace headroom
