#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// One level of data cache as this process sees it.
struct CacheLevel {
  std::string name;        // "L1"
  std::int64_t bytes = 0;  // one instance
  int instances = 1;       // how many of them the team reaches: one per core, or fewer where cores share

  std::int64_t total() const { return bytes * instances; }
};

// From the kernel's description under root (/sys/devices/system/cpu), for the CPUs this process may run on;
// smallest first. Empty where the kernel does not say, as in some containers.
std::vector<CacheLevel> cache_levels_in(const std::filesystem::path& root, std::span<const int> cpus,
                                        int threads);
// The same from the C library, which knows sizes but not who shares them: the last level is taken as shared.
std::vector<CacheLevel> cache_levels_from_sysconf(int threads);
// The same from rates alone: rate(bytes) is what one core reads per second from a set of so many bytes. A
// level ends where twice the set reads clearly slower.
std::vector<CacheLevel> cache_levels_by_sweep(int threads, const std::function<double(std::int64_t)>& rate);

// The CPUs this process may run on: one of every core first, then their siblings.
std::vector<int> allowed_cpus(const std::filesystem::path& root);

}  // namespace headroom
