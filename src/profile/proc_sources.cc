#include "profile/proc_sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr double kMegabyte = 1e6;

// Files in /proc have no size, may vanish at any moment, and are read many times a second: plain calls into
// memory that is used again. Empty if there is nothing to read.
class QuickFile {
 public:
  std::string_view read(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::size_t size = 0;
    for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
      if (size == text_.size()) text_.resize(2 * text_.size());
      got = ::read(file, text_.data() + size, text_.size() - size);
    }
    ::close(file);
    return std::string_view(text_).substr(0, size);
  }

 private:
  std::string text_ = std::string(4096, '\0');
};

std::string frequency_file(int core) {
  return fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", core);
}

class CoresAndMemory : public SampleSource {
 public:
  CoresAndMemory() : before_(parse_core_ticks(file_.read("/proc/stat"))) {
    for (const CoreTicks& line : before_)
      if (line.core >= 0 && fs::exists(frequency_file(line.core))) clocked_.push_back(line.core);
  }

  std::vector<SeriesInfo> series() const override {
    std::vector<SeriesInfo> all = {
        {.key = "memory_used_mb", .name = "memory used", .unit = "MB", .charted = false}};
    for (const CoreTicks& line : before_)
      all.push_back(line.core < 0 ? SeriesInfo{.key = "cpu_busy_percent",
                                               .name = "CPU busy",
                                               .unit = "%",
                                               .limit = 100,
                                               .charted = true}
                                  : SeriesInfo{.key = fmt::format("cpu{}_busy_percent", line.core),
                                               .name = fmt::format("CPU {} busy", line.core),
                                               .unit = "%",
                                               .limit = 100,
                                               .per_core = true});
    for (const int core : clocked_)
      all.push_back({.key = fmt::format("cpu{}_mhz", core),
                     .name = fmt::format("CPU {} frequency", core),
                     .unit = "MHz",
                     .per_core = true});
    return all;
  }

  void read(double, std::span<double> values) override {
    if (const auto used = used_memory_bytes(file_.read("/proc/meminfo"))) values[0] = *used / kMegabyte;
    const std::vector<CoreTicks> now = parse_core_ticks(file_.read("/proc/stat"));
    for (std::size_t i = 0; i < before_.size(); ++i) {
      // A core that was switched off is missing from the list.
      const auto line = std::ranges::find(now, before_[i].core, &CoreTicks::core);
      if (line == now.end()) continue;
      const auto busy = busy_percent(before_[i], *line);
      if (!busy) continue;
      values[1 + i] = *busy;
      before_[i] = *line;
    }
    for (std::size_t i = 0; i < clocked_.size(); ++i) {
      const std::string_view text = file_.read(frequency_file(clocked_[i]));
      double kilohertz = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), kilohertz).ec == std::errc{})
        values[1 + before_.size() + i] = kilohertz / 1000;
    }
  }

  std::vector<std::string> absent() const override {
    if (!clocked_.empty()) return {};
    return {"CPU frequencies: this machine has no /sys/devices/system/cpu/cpu0/cpufreq"};
  }

 private:
  QuickFile file_;
  std::vector<CoreTicks> before_;
  std::vector<int> clocked_;  // cores that tell their frequency
};

std::vector<ProcessState> all_processes(QuickFile& file) {
  std::vector<ProcessState> all;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (name.front() < '0' || name.front() > '9') continue;
    if (const auto process = parse_process(file.read("/proc/" + name + "/stat"))) all.push_back(*process);
  }
  return all;
}

class ProcessTree : public SampleSource {
 public:
  explicit ProcessTree(int pid) : pid_(pid) {}

  std::vector<SeriesInfo> series() const override {
    return {{.key = "command_cpu_percent", .name = "command CPU", .unit = "% of a core", .charted = true},
            {.key = "command_memory_mb", .name = "command memory", .unit = "MB", .charted = true}};
  }

  void read(double seconds, std::span<double> values) override {
    std::int64_t ticks = 0, pages = 0;
    bool alive = false;
    for (const ProcessState& process : tree_of(pid_, all_processes(file_))) {
      ticks += process.ticks;
      if (process.ended) continue;
      alive = true;
      pages += process.resident_pages;
    }
    if (alive) values[1] = double(pages) * double(::sysconf(_SC_PAGESIZE)) / kMegabyte;
    if (!before_) {
      before_ = {seconds, ticks};
    } else if (seconds - before_->seconds >= kShortest) {
      const double cpu_s = double(ticks - before_->ticks) / double(::sysconf(_SC_CLK_TCK));
      // A descendant whose parent ended first takes its time out of the sum.
      values[0] = std::max(0.0, 100 * cpu_s / (seconds - before_->seconds));
      before_ = {seconds, ticks};
    }
  }

 private:
  static constexpr double kShortest =
      0.05;  // the kernel counts in ticks of 10 ms: below, a share is rounding
  struct Before {
    double seconds;
    std::int64_t ticks;
  };
  int pid_;
  QuickFile file_;
  std::optional<Before> before_;
};

}  // namespace

std::unique_ptr<SampleSource> machine_source() { return std::make_unique<CoresAndMemory>(); }

std::unique_ptr<SampleSource> process_source(int pid) { return std::make_unique<ProcessTree>(pid); }

std::vector<ProcessState> process_tree(int pid) {
  QuickFile file;
  return tree_of(pid, all_processes(file));
}

}  // namespace headroom
