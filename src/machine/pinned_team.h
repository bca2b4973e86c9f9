#pragma once

#include <sched.h>

#include <span>
#include <vector>

namespace headroom {

// Pins every thread of the OpenMP team to its own CPU during its lifetime, then restores the old masks. On a
// busy machine the kernel may leave two threads on one core for long: "all cores" would then measure one. No
// effect if there are fewer CPUs than threads. Create and destroy it outside of parallel regions.
class PinnedTeam {
 public:
  PinnedTeam(int threads, std::span<const int> cpus);
  ~PinnedTeam();
  PinnedTeam(const PinnedTeam&) = delete;
  PinnedTeam& operator=(const PinnedTeam&) = delete;

 private:
  std::vector<cpu_set_t> masks_;  // per thread, as they were
};

}  // namespace headroom
