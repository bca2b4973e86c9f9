#include "machine/roofline.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "device/cpu/team.h"
#include "device/device.h"
#include "machine/bandwidth.h"
#include "machine/cache_levels.h"
#include "machine/fma_rate.h"
#include "machine/pinned_team.h"
#include "machine/timing.h"
#include "machine/wake.h"

namespace headroom {
namespace {

// Shares of the whole measurement; streams need most, because there are six per level.
constexpr double kFmaShare = 0.2, kStreamShare = 0.75, kWakeShare = 0.03;
constexpr std::int64_t kMaxMemory = std::int64_t{512} << 20;  // max to stream over, for any cache size

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr double kQuiet =
    0.9;  // a thread that never rests has this share of a core, unless others use it, too

// How many CPUs may work for this process at once. A container's quota may be less than the CPUs it sees.
int usable_cpus(std::span<const int> cpus) {
  const int seen = cpus.empty() ? omp_get_num_procs() : static_cast<int>(cpus.size());
  const double quota = cpu_quota("/sys/fs/cgroup/cpu.max");
  return quota > 0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, seen) : seen;
}

// The identity of a saved measurement.
std::string title_of(const Capabilities& cpu) {
  return fmt::format("{}, {} thread{}", cpu.name, cpu.threads, cpu.threads == 1 ? "" : "s");
}

void raise(double& rate, double seen) { rate = std::max(rate, seen); }

std::vector<CacheLevel> find_caches(std::span<const int> cpus, int threads) {
  if (auto found = cache_levels_in(kCpus, cpus, threads); !found.empty()) return found;
  if (auto found = cache_levels_from_sysconf(threads); !found.empty()) return found;
  const StreamArena arena(1, kMaxMemory);
  return cache_levels_by_sweep(
      threads, [&](std::int64_t bytes) { return stream_rate(arena, bytes, Clock::cpu, 0.01).bytes_per_s; });
}

// Bytes that each of `threads` streams over to measure level `index`: half of its share, so that the rest of
// the process fits beside it, but more than the level above holds if shares are that small (victim caches).
std::int64_t working_set(const std::vector<CacheLevel>& caches, std::size_t index, int threads) {
  auto share = [&](std::size_t i) {
    return caches[i].bytes * std::min(caches[i].instances, threads) / threads;
  };
  const std::int64_t half = share(index) / 2;
  return index == 0 ? half : std::max(half, share(index - 1) * 3 / 2);
}

std::int64_t memory_set(const std::vector<CacheLevel>& caches) {
  const std::int64_t last = caches.empty() ? 0 : caches.back().total();
  return std::clamp<std::int64_t>(4 * last, std::int64_t{64} << 20, kMaxMemory);
}

// The rate of every level, memory last, with a team of `threads`.
std::vector<StreamRate> stream_rates(const std::vector<CacheLevel>& caches, int threads, double seconds) {
  const StreamArena arena(threads, memory_set(caches) / threads);
  const double each = seconds / static_cast<double>(caches.size() + 1);
  std::vector<StreamRate> rates;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const Clock clock = caches[i].instances >= threads ? Clock::cpu : Clock::wall;
    rates.push_back(stream_rate(arena, working_set(caches, i, threads), clock, each));
  }
  const Clock clock = threads == 1 ? Clock::cpu : Clock::wall;
  rates.push_back(stream_rate(arena, arena.bytes_per_thread(), clock, each));
  // Data that fits a level also fits those below it, so a level is at least as fast; only noise says
  // otherwise.
  for (std::size_t i = rates.size() - 1; i-- > 0;) raise(rates[i].bytes_per_s, rates[i + 1].bytes_per_s);
  return rates;
}

void measure_peaks(Machine& machine, int team, double seconds) {
  const std::pair<const char*, DType> kinds[] = {{"fp32", DType::f32}, {"fp64", DType::f64}};
  for (const auto& [name, dtype] : kinds) {
    const double one = fma_rate(dtype, 1, seconds / 6).flops;
    const double all = team == 1 ? one : fma_rate(dtype, team, seconds / 6).flops;
    raise(machine.one_core_peak_flops[name], one);
    raise(machine.peak_flops[name], std::max(all, one));
  }
  const std::pair<const char*, FmaRate (*)(int, double)> units[] = {{"bf16", bf16_rate}, {"int8", int8_rate}};
  for (const auto& [name, rate] : units) {
    const double one = rate(1, seconds / 6).flops;
    if (one <= 0) continue;
    raise(machine.one_core_peak_flops[name], one);
    raise(machine.peak_flops[name], team == 1 ? one : std::max(one, rate(team, seconds / 6).flops));
  }
}

void measure_levels(Machine& machine, int team, const std::vector<CacheLevel>& caches, double memory_bytes,
                    double seconds) {
  const auto one = stream_rates(caches, 1, seconds / 2);
  const auto all = team == 1 ? one : stream_rates(caches, team, seconds / 2);
  for (std::size_t i = 0; i <= caches.size(); ++i) {
    const bool last = i == caches.size();
    const std::string name = last ? "memory" : caches[i].name;
    machine.levels.push_back({.name = name,
                              .bytes = last ? memory_bytes : static_cast<double>(caches[i].total()),
                              .bytes_per_s = std::max(all[i].bytes_per_s, one[i].bytes_per_s),
                              .one_core_bytes_per_s = one[i].bytes_per_s});
    std::vector<std::string> kinds;
    for (const auto& [kind, rate] : all[i].by_stream)
      kinds.push_back(fmt::format("{} {}", kind, si(rate, "B/s")));
    machine.notes.push_back(fmt::format("{}: {}", name, fmt::join(kinds, ", ")));
  }
}

}  // namespace

Machine measure_cpu(int threads, double seconds, const std::function<void(const std::string&)>& progress) {
  if (threads < 0 || !(seconds > 0)) reject("a measurement cannot take {} s on {} threads", seconds, threads);
  auto say = [&](const std::string& stage) {
    if (progress) progress(stage);
  };
  const Capabilities cpu = cpu_capabilities(threads);
  Machine machine{
      .name = "here", .title = title_of(cpu), .kind = "cpu", .measured = true, .cores = cpu.threads};
  machine.vector_bytes = cpu.vector_bytes;
  machine.notes.push_back("bytes are counted as a program issues them, without the lines that stores fetch");
#if !defined(__OPTIMIZE__)
  machine.notes.push_back("measured by a build without optimisation: the ceilings are too low");
#endif
  const std::vector<int> cpus = allowed_cpus(kCpus);
  // More threads than CPUs take turns: they are no faster, but the CPU clock of each would say so.
  const int team = std::min(cpu.threads, usable_cpus(cpus));
  if (team < cpu.threads)
    machine.doubt = fmt::format("{} threads share {} CPU{}, so these are the ceilings of {} thread{}",
                                cpu.threads, team, team == 1 ? "" : "s", team, team == 1 ? "" : "s");
  std::optional<PinnedTeam> pinned(std::in_place, team, cpus);
  const std::vector<CacheLevel> caches = find_caches(cpus, team);

  say(team == 1 ? "multiply-adds on 1 thread" : fmt::format("multiply-adds on 1 and {} threads", team));
  const double wall = now_s(), used = thread_cpu_s();
  measure_peaks(machine, team, kFmaShare / 2 * seconds);
  // This thread never rests in that stage, unless another program uses its core or a sibling's.
  if (const double had = (thread_cpu_s() - used) / (now_s() - wall); had < kQuiet && machine.doubt.empty())
    machine.doubt = fmt::format(
        "other programs were running: this one had {:.0f} % of a core, so shared levels may be too low",
        100 * had);
  if (!machine.doubt.empty()) machine.notes.push_back(machine.doubt);

  std::vector<std::string> names;
  for (const CacheLevel& cache : caches) names.push_back(cache.name);
  names.push_back("memory");
  say(fmt::format("bandwidth of {}", fmt::join(names, ", ")));
  measure_levels(machine, team, caches, static_cast<double>(cpu.memory_bytes), kStreamShare * seconds);

  say("multiply-adds once more");  // a processor with a power limit may have another clock by now
  measure_peaks(machine, team, kFmaShare / 2 * seconds);

  pinned.reset();  // new threads would share its CPU
  say("waking the thread team");
  // Kernels choose their threads by it: what other programs spoiled is worse than nothing.
  if (machine.doubt.empty()) machine.team_s = team_wake_seconds(team, kWakeShare * seconds);
  machine.launch.host_s = wake_seconds(cpu.threads, kWakeShare * seconds);
  return machine;
}

Machine higher_ceilings(Machine now, const Machine& before) {
  for (const auto& [name, rate] : before.peak_flops) raise(now.peak_flops[name], rate);
  for (const auto& [name, rate] : before.one_core_peak_flops) raise(now.one_core_peak_flops[name], rate);
  for (Machine::Level& level : now.levels)
    for (const Machine::Level& old : before.levels) {
      if (old.name != level.name) continue;
      raise(level.bytes_per_s, old.bytes_per_s);
      raise(level.one_core_bytes_per_s, old.one_core_bytes_per_s);
    }
  if (now.team_s.empty()) now.team_s = before.team_s;
  for (std::size_t i = 0; i < std::min(now.team_s.size(), before.team_s.size()); ++i)
    now.team_s[i] = std::min(now.team_s[i], before.team_s[i]);
  if (before.launch.host_s > 0) now.launch.host_s = std::min(now.launch.host_s, before.launch.host_s);
  return now;
}

namespace {

Machine saved_or_measured(int threads, double seconds, bool keep, const Warn& warn) {
  const Capabilities cpu = cpu_capabilities(threads);
  bool trial = threads > 0 && threads != cpu_capabilities().threads;
  if (std::error_code error; std::filesystem::exists(machine_file("here"), error)) {
    try {
      Machine saved = find_machine("here");
      // An affinity mask may leave this run fewer CPUs than the saved measurement had.
      const bool as_many = saved.cores <= usable_cpus(allowed_cpus(kCpus));
      if (saved.title == title_of(cpu) && as_many) return saved;
      trial = trial || (saved.title.starts_with(cpu.name + ",") && !as_many);
    } catch (const Error& damage) {
      // The file only saves time here; a damaged one is measured and written again.
      if (warn) warn(fmt::format("{}; measuring this machine again", damage.what()));
    }
  }
  Machine machine = measure_cpu(threads, seconds);
  if (!keep || trial || !machine.doubt.empty()) return with_saved_link(machine);  // "here" stays unchanged
  try {
    save_machine(with_saved_link(machine));
  } catch (const Error& error) {
    machine.notes.push_back(fmt::format("not saved: {}", error.what()));
  }
  return machine;
}

}  // namespace

Machine here_or_measure(int threads, double seconds, bool keep, const Warn& warn) {
  Machine machine = saved_or_measured(threads, seconds, keep, warn);
  if (machine.team_s.empty()) return machine;
  std::vector<double> costs = machine.team_s;
  costs.insert(costs.begin(), 0);  // one thread is awake
  use_team_costs(TeamCosts(std::move(costs)));
  return machine;
}

}  // namespace headroom
