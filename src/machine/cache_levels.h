#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// One level of data cache, as visible to this process.
struct CacheLevel {
  std::string name;        // "L1"
  std::int64_t bytes = 0;  // one instance
  int instances = 1;       // instances the team uses: one per core, or fewer if cores share

  std::int64_t total() const { return bytes * instances; }
};

enum class CacheKind { data, instruction };  // a cache for both counts as data

// From the kernel's description under root (/sys/devices/system/cpu), for the CPUs this process may run on;
// smallest first. Empty if the kernel gives none, as in some containers.
std::vector<CacheLevel> cache_levels_in(const std::filesystem::path& root, std::span<const int> cpus,
                                        int threads, CacheKind kind = CacheKind::data);
// The same from the C library, which knows sizes but not the sharing: assumes that the last level is shared.
std::vector<CacheLevel> cache_levels_from_sysconf(int threads);
// The same from rates alone: rate(bytes) is one core's read rate for a set of `bytes` bytes. A level ends
// where a set of twice the size is clearly slower.
std::vector<CacheLevel> cache_levels_by_sweep(int threads, const std::function<double(std::int64_t)>& rate);

// The CPUs this process may run on: one of every core first, then their siblings.
std::vector<int> allowed_cpus(const std::filesystem::path& root);
// How many CPUs' time a container may use, from its cpu.max file; 0: no limit, or no such file.
double cpu_quota(const std::filesystem::path& file);

}  // namespace headroom
