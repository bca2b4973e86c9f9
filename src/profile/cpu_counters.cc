#include "profile/cpu_counters.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace headroom {

#ifdef __linux__
namespace {

constexpr std::uint32_t kSoftware = PERF_TYPE_SOFTWARE, kHardware = PERF_TYPE_HARDWARE;

constexpr CpuCounter kCounters[] = {
    {"task-clock", "time of all threads on a core, in ns", kSoftware, PERF_COUNT_SW_TASK_CLOCK, false},
    {"page-faults", "pages that were not mapped", kSoftware, PERF_COUNT_SW_PAGE_FAULTS, false},
    {"context-switches", "times a thread gave up its core", kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, false},
    {"cpu-migrations", "times a thread moved to another core", kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS,
     false},
    {"instructions", "executed", kHardware, PERF_COUNT_HW_INSTRUCTIONS, true},
    {"cycles", "of cores that run a thread", kHardware, PERF_COUNT_HW_CPU_CYCLES, true},
    {"branches", "executed", kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, true},
    {"branch-misses", "branches that were predicted wrongly", kHardware, PERF_COUNT_HW_BRANCH_MISSES, true},
    {"cache-references", "accesses to the last cache", kHardware, PERF_COUNT_HW_CACHE_REFERENCES, true},
    {"cache-misses", "of these, lines read from memory", kHardware, PERF_COUNT_HW_CACHE_MISSES, true}};

// Opens a counter of a thread in the group of `leader` (-1: as a leader), or gives -1 with errno set. Users
// without rights may count their own code alone.
int open_counter(const CpuCounter& counter, int thread, int leader = -1) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = counter.type, attr.config = counter.config;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const auto call = [&] {
    return static_cast<int>(syscall(SYS_perf_event_open, &attr, thread, -1, leader, PERF_FLAG_FD_CLOEXEC));
  };
  const int file = call();
  if (file >= 0 || (errno != EACCES && errno != EPERM)) return file;
  attr.exclude_kernel = 1;
  return call();
}

std::string reason_of(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "the processor, or the virtual machine, does not count this";
  if (error == EACCES || error == EPERM) return "this user may not: see /proc/sys/kernel/perf_event_paranoid";
  return error == ENOSYS ? "this kernel has no perf_event_open" : std::strerror(error);
}

std::vector<int> threads_of_process() {
  std::vector<int> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.push_back(std::stoi(entry.path().filename().string()));
  return threads;
}

// What a read of a group gives.
struct GroupValues {
  std::uint64_t count, enabled, running;
  std::uint64_t values[std::size(kCounters)];
};

}  // namespace

std::span<const CpuCounter> cpu_counters() { return kCounters; }

std::string why_no_cpu_counter(const CpuCounter& counter) {
  const int file = open_counter(counter, 0);
  if (file < 0) return reason_of(errno);
  close(file);
  return "";
}

CpuCounting::CpuCounting(const std::vector<std::string>& counters) {
  const std::vector<int> threads = threads_of_process();
  for (const bool hardware : {false, true}) {
    std::vector<const CpuCounter*> chosen;
    for (const CpuCounter& counter : kCounters) {
      if (counter.hardware != hardware || std::ranges::find(counters, counter.name) == counters.end())
        continue;
      const std::string why_not = why_no_cpu_counter(counter);
      if (why_not.empty())
        chosen.push_back(&counter);
      else
        notes_.push_back(fmt::format("no {}: {}", counter.name, why_not));
    }
    if (!chosen.empty()) open(chosen, threads);
  }
}

// All threads have the same counters, so that sums over them are complete; one that has just ended has none.
void CpuCounting::open(std::span<const CpuCounter* const> counters, std::span<const int> threads) {
  const std::size_t first = names_.size();
  for (const CpuCounter* counter : counters) names_.emplace_back(counter->name);
  for (const int thread : threads) {
    Group group{.first = first};
    for (const CpuCounter* counter : counters) {
      const int file = open_counter(*counter, thread, group.leader);
      if (file < 0) break;
      if (group.leader < 0) group.leader = file;
      files_.push_back(file);
      ++group.count;
    }
    if (group.count == counters.size()) groups_.push_back(group);
  }
}

CpuCounting::~CpuCounting() {
  for (const int file : files_) close(file);
}

// Where other programs use the processor's counters, too, each counts for a part of the time and is scaled
// up.
void CpuCounting::read(std::vector<double>& totals) const {
  std::ranges::fill(totals, 0);
  for (const Group& group : groups_) {
    GroupValues read{};
    if (::read(group.leader, &read, sizeof read) <= 0 || read.running == 0) continue;
    const double scale = double(read.enabled) / double(read.running);
    for (std::size_t n = 0; n < group.count; ++n) totals[group.first + n] += double(read.values[n]) * scale;
  }
}

#else

std::span<const CpuCounter> cpu_counters() { return {}; }
std::string why_no_cpu_counter(const CpuCounter&) { return "only Linux counts for a process"; }
CpuCounting::CpuCounting(const std::vector<std::string>&) : notes_{"no counters: only Linux has them"} {}
CpuCounting::~CpuCounting() = default;
void CpuCounting::read(std::vector<double>&) const {}

#endif

std::span<const CpuCounterSet> cpu_counter_sets() {
  static const CpuCounterSet sets[] = {
      {"seed",
       "what a step executes",
       {"task-clock", "page-faults", "context-switches", "instructions", "cycles", "branches",
        "branch-misses"}},
      {"memory",
       "what it reads past the caches",
       {"task-clock", "page-faults", "instructions", "cycles", "cache-references", "cache-misses"}},
      {"system",
       "what it asks of the operating system",
       {"task-clock", "page-faults", "context-switches", "cpu-migrations"}}};
  return sets;
}

std::vector<std::string> cpu_counters_named(const std::string& request) {
  std::vector<std::string> known, chosen;
  for (const CpuCounterSet& set : cpu_counter_sets()) known.emplace_back(set.name);
  for (const CpuCounter& counter : cpu_counters()) known.emplace_back(counter.name);
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(chosen, name) == chosen.end()) chosen.push_back(name);
  };
  for (const std::string& word : split(request, ',')) {
    const auto set = std::ranges::find_if(cpu_counter_sets(), [&](const auto& s) { return s.name == word; });
    if (set != cpu_counter_sets().end())
      for (const std::string& name : set->counters) add(name);
    else if (std::ranges::find(known, word) != known.end())
      add(word);
    else
      reject(nearest(word, known), "there is no counter '{}'", word);
  }
  return chosen;
}

}  // namespace headroom
