#pragma once

#include <string>
#include <vector>

#include "comm/groups.h"
#include "plan/plan.h"
#include "train/trainer.h"

namespace headroom {

// One rank's times in a step, as means over the timed steps, in seconds.
struct RankTimes {
  double step = 0, compute = 0;    // the whole, and all of it except waiting for others' data
  double exchange = 0;             // messages in flight, including waits for later ranks
  double exposed = 0, hidden = 0;  // parts of it: visible as waiting, and not
  double slowest = 0;              // share of the steps in which no rank computed longer
  double stored_bytes = 0;         // weights and optimizer state that this rank keeps
};

// The data a plan exchanges within a group in one step.
struct GroupTraffic {
  std::string group;
  int ranks = 1;
  std::int64_t bytes = 0, calls = 0;
  std::int64_t report_bytes = 0;   // part of these: loss and other figures
  std::int64_t one_way_bytes = 0;  // part of these: scattered or gathered, half a sum each
  // Counts 2 b for a sum of b bytes, without the reported figures.
  std::int64_t two_way_bytes() const { return 2 * (bytes - report_bytes) - one_way_bytes; }
};

struct RanksReport {
  Distribution distribution;
  std::vector<RankTimes> ranks;
  std::vector<GroupTraffic> planned;
  bool timed = false;                         // false if whole steps are queued: then the times below are 0
  std::int64_t planned_bytes = 0;             // per step
  double counted_bytes = 0;                   // per step, by this rank's communicators
  double bus_bytes_per_s = 0;                 // 2 (p - 1) / p of the bytes over the time of the exchanges
  double copy_seconds = 0, copy_exposed = 0;  // GPU memory through the host, all steps
  double saved_bytes = 0;                     // optimizer state that other ranks keep for this one
  std::string transport;                      // "mpi", "nccl"
};

// All ranks call it; each gets the same result.
RanksReport report_ranks(const Engine& engine, const Plan& plan, const TrainResult& result);

// Bytes that a plan's steps exchange within each group.
std::vector<GroupTraffic> traffic_of(const Plan& plan, const Distribution& distribution);

}  // namespace headroom
