#include <algorithm>

#include "base/error.h"
#include "bench/switches.h"

namespace headroom {
namespace {

constexpr const char* kHostMemory = "a CPU reads batches where the loader wrote them";
constexpr const char* kNoQueue = "a CPU runs a step as it is called: there is nothing to queue";

std::string why_not(Switch which, const Capabilities& device, int ranks) {
  const bool gpu = device.kind != DeviceKind::cpu;
  switch (which) {
    case Switch::reuse:
    case Switch::pinned:
    case Switch::overlap:
    case Switch::resident:
      return gpu ? "" : kHostMemory;
    case Switch::graph:
    case Switch::streams:
      return gpu ? "" : kNoQueue;
    case Switch::threads:
      if (gpu) return "the GPU computes";
      return device.threads > 1 ? "" : "there is one thread for each process";
    case Switch::exchange:
      return ranks > 1 ? "" : "one process exchanges nothing; start two ranks: mpirun -n 2";
    case Switch::kernels:
    case Switch::loader:
      return "";
  }
  return "";
}

SwitchSet minus(SwitchSet set, const SwitchSet& others) {
  for (const Switch other : others) set.erase(other);
  return set;
}
SwitchSet common_to(const SwitchSet& a, const SwitchSet& b) {
  SwitchSet both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  return both;
}

}  // namespace

const std::vector<SwitchInfo>& all_switches() {
  using enum Switch;
  static const std::vector<SwitchInfo> list = {
      {kernels, "kernels", "the first kernel of each operator that accepts", "the last: the plainest"},
      {threads, "threads", "every core computes", "one thread computes"},
      {loader, "loader", "several threads prepare batches", "one thread does"},
      {reuse,
       "reuse",
       "two buffers on the device take turns",
       "fresh buffers for each batch",
       {},
       {resident}},
      {pinned, "pinned", "copies from pinned memory", "from pageable memory", {}, {resident}},
      {overlap, "overlap", "the next batch is copied meanwhile", "copy, then compute", {}, {resident}},
      {resident, "resident", "all images are copied once, at the start", "each batch, when it is needed"},
      {graph, "graph", "a step is one launch", "kernel by kernel, the loss read after each step"},
      {streams, "streams", "branches in that launch", "one", {graph}, {}},
      {exchange, "exchange", "gradients are exchanged during the backward pass",
       "each exchange is waited for"},
  };
  return list;
}

const SwitchInfo& info_of(Switch which) {
  return *std::ranges::find(all_switches(), which, &SwitchInfo::which);
}

SwitchesHere switches_here(const Capabilities& device, int ranks) {
  SwitchesHere here;
  for (const SwitchInfo& info : all_switches()) {
    const std::string reason = why_not(info.which, device, ranks);
    if (reason.empty())
      here.runnable.insert(info.which);
    else
      here.why_not[info.which] = reason;
  }
  return here;
}

std::string SwitchSetting::name() const {
  if (kind == Kind::nothing) return "nothing";
  if (kind == Kind::all) return "all";
  const SwitchInfo& info = info_of(which);
  std::string text = fmt::format("{} {}", kind == Kind::only ? "only" : "all but", info.key);
  for (const Switch other : kind == Kind::only ? info.with : info.without)
    text += fmt::format("{} {}", kind == Kind::only ? ", with" : " and", info_of(other).key);
  return text;
}

std::vector<SwitchSetting> settings_of(const SwitchSet& runnable) {
  using enum SwitchSetting::Kind;
  std::vector<SwitchSetting> list = {{.kind = nothing, .on = {}, .base = {}}};
  for (const Switch which : runnable) {
    const SwitchSet base = common_to(info_of(which).with, runnable);
    SwitchSet on = base;
    on.insert(which);
    list.push_back({only, which, on, base});
  }
  list.push_back({.kind = all, .on = runnable, .base = {}});
  for (const Switch which : runnable) {
    const SwitchSet base = minus(runnable, info_of(which).without);
    list.push_back({all_but, which, minus(base, {which}), base});
  }
  return list;
}

}  // namespace headroom
