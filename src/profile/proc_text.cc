#include "profile/proc_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace headroom {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

template <class Number>
std::optional<Number> number_in(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return {};
  return number;
}

// cpu0 user nice system idle iowait irq softirq steal guest guest_nice; the last two are part of the first.
std::optional<CoreTicks> core_in(std::string_view line) {
  const std::string_view name = take_word(line);
  if (!name.starts_with("cpu")) return {};
  CoreTicks core;
  if (name.size() > 3) {
    const auto number = number_in<int>(name.substr(3));
    if (!number) return {};
    core.core = *number;
  }
  constexpr int kIdle = 3, kWaiting = 4, kFields = 8;
  int field = 0;
  for (; field < kFields; ++field) {
    const auto ticks = number_in<std::int64_t>(take_word(line));
    if (!ticks) break;  // old kernels have fewer
    core.all += *ticks;
    if (field != kIdle && field != kWaiting) core.busy += *ticks;
  }
  return field > kIdle ? std::optional(core) : std::nullopt;
}

}  // namespace

std::vector<CoreTicks> parse_core_ticks(std::string_view proc_stat) {
  std::vector<CoreTicks> cores;
  while (!proc_stat.empty())
    if (const auto core = core_in(take_line(proc_stat))) cores.push_back(*core);
  return cores;
}

std::optional<double> busy_percent(const CoreTicks& earlier, const CoreTicks& later) {
  constexpr std::int64_t kFewestTicks = 5;  // below, a share would mostly be rounding
  const std::int64_t all = later.all - earlier.all;
  if (all < kFewestTicks) return {};
  // The kernel's count of idle ticks may go back a little.
  return std::clamp(100.0 * double(later.busy - earlier.busy) / double(all), 0.0, 100.0);
}

std::optional<double> used_memory_bytes(std::string_view meminfo) {
  std::optional<double> total, available, free, buffers, cached;
  while (!meminfo.empty()) {
    std::string_view line = take_line(meminfo);
    const std::string_view name = take_word(line);
    const auto kilobytes = number_in<double>(take_word(line));
    if (!kilobytes) continue;
    if (name == "MemTotal:") total = kilobytes;
    if (name == "MemAvailable:") available = kilobytes;
    if (name == "MemFree:") free = kilobytes;
    if (name == "Buffers:") buffers = kilobytes;
    if (name == "Cached:") cached = kilobytes;
  }
  if (!available && free) available = *free + buffers.value_or(0) + cached.value_or(0);  // before Linux 3.14
  if (!total || !available) return {};
  return 1024 * (*total - *available);
}

std::optional<double> total_memory_bytes(std::string_view meminfo) {
  while (!meminfo.empty()) {
    std::string_view line = take_line(meminfo);
    if (take_word(line) != "MemTotal:") continue;
    if (const auto kilobytes = number_in<double>(take_word(line))) return 1024 * *kilobytes;
  }
  return {};
}

std::vector<double> core_mhz(std::string_view cpuinfo) {
  std::vector<double> all;
  while (!cpuinfo.empty()) {
    std::string_view line = take_line(cpuinfo);
    const std::size_t colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == line.npos) continue;
    line.remove_prefix(colon + 1);
    if (const auto mhz = number_in<double>(take_word(line)); mhz && *mhz > 0) all.push_back(*mhz);
  }
  return all;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int kMaxCpu = 1 << 16;
  std::vector<int> cpus;
  for (std::string_view list = take_line(text); !list.empty();) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(range.size() + 1, list.size()));
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = number_in<int>(range.substr(0, dash));
    const auto last = dash < range.size() ? number_in<int>(range.substr(dash + 1)) : first;
    if (!first || !last || *first < 0 || *last < *first || *last > kMaxCpu) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string system_name(std::string_view os_release) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  while (!os_release.empty()) {
    std::string_view line = take_line(os_release);
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return {};
}

std::vector<std::string> command_words(std::string_view cmdline) {
  std::vector<std::string> words;
  while (!cmdline.empty()) {
    const std::size_t end = std::min(cmdline.find('\0'), cmdline.size());
    words.emplace_back(cmdline.substr(0, end));
    cmdline.remove_prefix(std::min(end + 1, cmdline.size()));
  }
  return words;
}

// 42 (name) S 1 ...: the name may itself hold blanks and parentheses.
std::optional<ProcessState> parse_process(std::string_view pid_stat) {
  const std::size_t name_ends = pid_stat.rfind(')');
  if (name_ends == std::string_view::npos) return {};
  std::string_view front = pid_stat.substr(0, name_ends);
  const auto pid = number_in<int>(take_word(front));
  std::string_view rest = take_line(pid_stat = pid_stat.substr(name_ends + 1));
  std::array<std::string_view, 22> fields;  // from the third of proc(5) on
  for (std::string_view& field : fields) field = take_word(rest);
  const auto parent = number_in<int>(fields[1]);
  const auto pages = number_in<std::int64_t>(fields[21]);
  const auto start = number_in<std::int64_t>(fields[19]);
  if (!pid || !parent || !pages || !start) return {};
  ProcessState process{*pid, *parent, fields[0] == "Z" || fields[0] == "X", 0, *pages, *start};
  for (std::size_t i = 11; i <= 14; ++i) {  // utime, stime, cutime, cstime
    const auto ticks = number_in<std::int64_t>(fields[i]);
    if (!ticks) return {};
    process.ticks += *ticks;
  }
  return process;
}

std::vector<ProcessState> tree_of(int root, const std::vector<ProcessState>& all) {
  std::vector<ProcessState> tree;
  for (const ProcessState& process : all)
    if (process.pid == root) tree.push_back(process);
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const ProcessState& process : all)
      if (process.parent == tree[i].pid && process.pid != process.parent) tree.push_back(process);
  return tree;
}

}  // namespace headroom
