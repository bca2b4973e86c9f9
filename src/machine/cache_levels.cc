#include "machine/cache_levels.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "64K", "32M" or plain bytes.
std::optional<std::int64_t> size_in(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value <= 0) return std::nullopt;
  const char unit = end == text.data() + text.size() ? '\0' : *end;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

std::string level_name(int level) { return fmt::format("L{}", level); }

}  // namespace

std::vector<int> allowed_cpus(const fs::path& root) {
  std::vector<int> cpus, siblings;
  std::set<std::string> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &set)) continue;
      const std::string core = first_line(root / fmt::format("cpu{}/topology/thread_siblings_list", cpu));
      (core.empty() || cores.insert(core).second ? cpus : siblings).push_back(cpu);
    }
  cpus.insert(cpus.end(), siblings.begin(), siblings.end());
  return cpus;  // empty if there are more CPUs than the set holds
}

double cpu_quota(const fs::path& file) {
  std::istringstream text(first_line(file));
  double quota = 0, period = 0;  // microseconds; "max" instead of a number is no limit
  return text >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

std::vector<CacheLevel> cache_levels_in(const fs::path& root, std::span<const int> cpus, int threads,
                                        CacheKind kind) {
  struct Seen {
    std::int64_t bytes = 0;
    std::set<std::string> sharers;  // the CPUs that share an instance identify it
  };
  std::map<int, Seen> levels;
  for (const int cpu : cpus) {
    const fs::path folder = root / fmt::format("cpu{}", cpu) / "cache";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (!entry.path().filename().string().starts_with("index")) continue;
      const bool for_instructions = first_line(entry.path() / "type") == "Instruction";
      if (for_instructions != (kind == CacheKind::instruction)) continue;
      const auto bytes = size_in(first_line(entry.path() / "size"));
      const auto level = size_in(first_line(entry.path() / "level"));
      if (!bytes || !level) continue;
      Seen& seen = levels[static_cast<int>(*level)];
      seen.bytes = std::max(seen.bytes, *bytes);
      const std::string sharers = first_line(entry.path() / "shared_cpu_list");
      seen.sharers.insert(sharers.empty() ? std::to_string(cpu) : sharers);
    }
  }
  std::vector<CacheLevel> found;
  for (const auto& [level, seen] : levels)
    found.push_back({.name = level_name(level),
                     .bytes = seen.bytes,
                     .instances = std::min(static_cast<int>(seen.sharers.size()), threads)});
  return found;
}

std::vector<CacheLevel> cache_levels_from_sysconf(int threads) {
  std::vector<CacheLevel> found;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const long sizes[] = {::sysconf(_SC_LEVEL1_DCACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE),
                        ::sysconf(_SC_LEVEL3_CACHE_SIZE)};
  for (int level = 1; level <= 3; ++level)
    if (sizes[level - 1] > 0)
      found.push_back(
          {.name = level_name(level), .bytes = sizes[level - 1], .instances = level == 3 ? 1 : threads});
#endif
  return found;
}

std::vector<CacheLevel> cache_levels_by_sweep(int threads, const std::function<double(std::int64_t)>& rate) {
  constexpr std::int64_t kSmallest = 8 << 10, kLargest = 256 << 20;
  constexpr double kDrop = 0.75;  // above the noise of a short trial; neighbouring levels differ by more
  std::vector<CacheLevel> found;
  double plateau = rate(kSmallest);
  for (std::int64_t bytes = kSmallest; bytes < kLargest; bytes *= 2) {
    const double next = rate(bytes * 2);
    if (next > kDrop * plateau) {
      plateau = std::max(plateau, next);
      continue;
    }
    found.push_back(
        {.name = level_name(static_cast<int>(found.size()) + 1), .bytes = bytes, .instances = threads});
    // The first set beyond a level may still half fit it, so the next plateau starts one size later.
    bytes *= 2;
    plateau = bytes < kLargest ? rate(bytes * 2) : next;
  }
  if (found.size() > 1) found.back().instances = 1;
  return found;
}

}  // namespace headroom
