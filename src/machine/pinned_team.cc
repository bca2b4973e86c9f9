#include "machine/pinned_team.h"

#include <omp.h>

namespace headroom {

PinnedTeam::PinnedTeam(int threads, std::span<const int> cpus) {
  if (std::ssize(cpus) < threads) return;
  masks_.resize(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num());
    ::sched_getaffinity(0, sizeof(cpu_set_t), &masks_[t]);
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpus[t], &own);
    ::sched_setaffinity(0, sizeof own, &own);  // refused: the kernel's own placement is fine
  }
}

PinnedTeam::~PinnedTeam() {
  if (masks_.empty()) return;
#pragma omp parallel num_threads(static_cast <int>(masks_.size()))
  ::sched_setaffinity(0, sizeof(cpu_set_t), &masks_[static_cast<std::size_t>(omp_get_thread_num())]);
}

}  // namespace headroom
