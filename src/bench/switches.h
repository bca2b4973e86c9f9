#pragma once

// Every improvement of the perceptron course's project as a switch: training epochs with only this one on,
// with all but this one, with none and with all.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace headroom {

enum class Switch { kernels, threads, loader, reuse, pinned, overlap, resident, graph, streams, exchange };
using SwitchSet = std::set<Switch>;

struct SwitchInfo {
  Switch which;
  std::string_view key, on, off;  // what it means
  // Some have no effect next to others. Alone it runs together with `with`; to be missed it runs without
  // `without`.
  SwitchSet with = {}, without = {};
};
const std::vector<SwitchInfo>& all_switches();
const SwitchInfo& info_of(Switch which);

// Which switches this device and so many ranks have, and why not the others.
struct SwitchesHere {
  SwitchSet runnable;
  std::map<Switch, std::string> why_not;
};
SwitchesHere switches_here(const Capabilities& device, int ranks);

// One way to train, and the one it is compared with.
struct SwitchSetting {
  enum class Kind { nothing, only, all, all_but };
  Kind kind = Kind::nothing;
  Switch which = Switch::kernels;  // of only and all_but
  SwitchSet on, base;
  std::string name() const;  // "only streams, with graph"
};
std::vector<SwitchSetting> settings_of(const SwitchSet& runnable);

struct SwitchWorkload {
  std::string model;
  std::int64_t batch = 0, images = 0;
};
// The perceptron and a network of convolutions, of sizes for such a device.
std::vector<SwitchWorkload> usual_switch_workloads(DeviceKind device);

struct SwitchTiming {
  SwitchWorkload of;
  int ranks = 1;
  SwitchSetting setting;
  std::string feed;  // how batches arrived, in the feed's own words
  double epoch_s = 0;
  double nothing_s = 0, base_s = 0;  // of the same workload with nothing on, and of the setting's base

  double gain() const { return nothing_s / epoch_s; }
  double images_per_s() const { return double(of.images) / epoch_s; }
};

struct SwitchBench {
  EngineOptions options = {};  // its groups share the work; null: this process alone
  int rounds = 3;              // epochs per setting; the best counts
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};
// Epochs on random images; with ranks, the time of the slowest. All ranks of the options call it.
std::vector<SwitchTiming> bench_switches(Device& device, const SwitchWorkload& workload,
                                         const SwitchBench& bench);

// The share of copy time that overlapping hides: 1 if streaming costs no more than resident images. Below 0:
// the timings do not tell.
double hidden_share(const std::vector<SwitchTiming>& timings);

// The last kernel of each operator's list that accepts: the plainest.
Choice last_that_accepts(const Problem& problem, const Target& target);

}  // namespace headroom
