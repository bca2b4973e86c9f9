#pragma once

// What the kernel of the operating system counts for every thread of this process: its own events, which are
// always there, and the processor's, where it may be asked for them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headroom {

struct CpuCounter {
  const char* name;
  const char* what;
  std::uint32_t type;    // of perf_event_open
  std::uint64_t config;  // likewise
  bool hardware;
};
struct CpuCounterSet {
  const char* name;
  const char* what;
  std::vector<std::string> counters;
};

std::span<const CpuCounter> cpu_counters();
std::span<const CpuCounterSet> cpu_counter_sets();
// Names of sets and counters, separated by commas: the counters, each once. Rejects unknown names.
std::vector<std::string> cpu_counters_named(const std::string& request);
// Whether a counter can be read here: empty, or the reason why not.
std::string why_no_cpu_counter(const CpuCounter& counter);

// Counts from its construction on, in all threads there are then.
class CpuCounting {
 public:
  explicit CpuCounting(const std::vector<std::string>& counters);
  ~CpuCounting();
  CpuCounting(const CpuCounting&) = delete;
  CpuCounting& operator=(const CpuCounting&) = delete;

  const std::vector<std::string>& names() const { return names_; }  // of the counters that could be opened
  const std::vector<std::string>& notes() const { return notes_; }  // what could not, and why
  void read(std::vector<double>& totals) const;                     // by name; allocates nothing

 private:
  // The counters of one thread that are read together: those of the system, or those of the processor.
  struct Group {
    int leader = -1;
    std::size_t first = 0, count = 0;  // among the names
  };
  void open(std::span<const CpuCounter* const> counters, std::span<const int> threads);

  std::vector<std::string> names_, notes_;
  std::vector<Group> groups_;
  std::vector<int> files_;  // of all
};

}  // namespace headroom
