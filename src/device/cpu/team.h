#pragma once

// The threads of CPU kernels. Each thread that starts work has a team of its own, which sleeps between
// kernels. A kernel wakes only the members it needs: OpenMP's runtime would end the others and create them
// again for the next larger kernel.

#include <atomic>
#include <utility>
#include <vector>

namespace headroom {

// Whether this thread works on a share of something already: for a team or in an OpenMP region.
bool inside_team();
// How many threads work that starts here may have: OpenMP's number, or 1 inside a team.
int team_limit();

// Calls body(thread) for each thread from 0 to threads - 1 at the same time, 0 on this thread, and waits for
// all. Bodies must not throw if there is more than one. Start only one inside a team.
void run_team(int threads, void (*call)(const void* body, int thread), const void* body);
template <class Body>
void run_team(int threads, const Body& body) {
  run_team(
      threads, [](const void* b, int thread) { (*static_cast<const Body*>(b))(thread); }, &body);
}

// Where the members of a team wait for each other, as often as they like.
class TeamBarrier {
 public:
  explicit TeamBarrier(int threads) : threads_(threads) {}
  void wait();

 private:
  const int threads_;
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<unsigned> round_ = 0;
  std::atomic<int> asleep_ = 0;
};

// What it costs to wake a team and to wait for it.
class TeamCosts {
 public:
  TeamCosts();                                      // of a quiet machine: 1 us, and 0.25 us for each thread
  explicit TeamCosts(std::vector<double> seconds);  // of 1, 2, 4, … threads; others lie between
  double of(int threads) const;

  // The fewest of up to `limit` threads that finish this work nearly as early as any number would.
  // `meetings`: how often the threads also wait for each other on the way.
  int threads_for(double seconds, int limit, int meetings = 0) const;

 private:
  std::vector<double> by_threads_;
};

// The costs by which the kernels of this process choose their threads: those of a quiet machine, unless its
// own were measured.
const TeamCosts& team_costs();
void use_team_costs(TeamCosts costs);

}  // namespace headroom
