#pragma once

#include <omp.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace headroom {

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double thread_cpu_s() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The clock of a trial. If threads share nothing, each one's CPU time equals the wall time on a quiet machine
// and is still right on a busy one; their rates add up. Shared resources need the wall clock: a thread held
// up by another program would leave its share to the others.
enum class Clock { wall, cpu };

// The team's seconds for work(thread). Wall: from the moment all threads are awake to the end of the last.
// CPU: such that the team's rate is the sum of its members' rates; each does the same amount.
template <class Work>
double team_seconds(int threads, Clock clock, Work&& work) {
  double begin = 0, end = 0, rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
  {
#pragma omp barrier
#pragma omp master
    begin = now_s();
#pragma omp barrier
    const double cpu_begin = thread_cpu_s();
    work(omp_get_thread_num());
    rate = 1 / std::max(thread_cpu_s() - cpu_begin, 1e-9);
#pragma omp barrier
#pragma omp master
    end = now_s();
  }
  return clock == Clock::wall ? end - begin : threads / rate;
}

// Time of one undisturbed pass, from about `seconds` of trials; run(passes) returns the seconds of that many
// passes. Trials are short, because a short trial is less likely to be interrupted, but long compared with
// the two barriers of a team (about 1 us each). By the wall clock the fastest trial counts. CPU clocks may
// also err downwards around an interruption, so there the fastest twentieth is dropped.
template <class Run>
double undisturbed_seconds(double seconds, Clock clock, Run&& run) {
  constexpr double kTrial = 4e-4;
  const double until = now_s() + seconds;
  std::int64_t passes = 1;
  double took = run(passes);
  while (took < kTrial / 2 && passes < (std::int64_t{1} << 40)) {
    passes *= took < kTrial / 64 ? 16 : 2;
    took = run(passes);
  }
  std::vector<double> trials = {took};
  do trials.push_back(run(passes));
  while (now_s() < until);
  const auto rank = clock == Clock::wall ? 0 : std::ssize(trials) / 20;
  std::nth_element(trials.begin(), trials.begin() + rank, trials.end());
  return trials[static_cast<std::size_t>(rank)] / static_cast<double>(passes);
}

}  // namespace headroom
