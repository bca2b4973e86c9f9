#pragma once

#include <sched.h>

#include <span>
#include <vector>

namespace headroom {

// Holds every thread of the OpenMP team on a CPU of its own while it lives, then gives back the masks they
// had. On a busy machine the kernel may leave two threads on one core for long: "all cores" would then
// measure one. Does nothing where there are fewer CPUs than threads. Made and destroyed outside of parallel
// regions.
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
