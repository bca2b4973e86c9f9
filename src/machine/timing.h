#pragma once

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace headroom {

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds from the moment the whole team is awake until its last member is done with work(thread).
template <class Work>
double team_seconds(int threads, Work&& work) {
  double begin = 0, end = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
#pragma omp master
    begin = now_s();
#pragma omp barrier
    work(omp_get_thread_num());
#pragma omp barrier
#pragma omp master
    end = now_s();
  }
  return end - begin;
}

// Least time of one pass over about `seconds` of trials. run(passes) returns the seconds that many took.
// Trials are short, since a ceiling is wanted: one that nothing else interrupted is enough, and the shorter
// it is the likelier; yet long beside the two barriers of a team (about 1 us each).
template <class Run>
double least_seconds_per_pass(double seconds, Run&& run) {
  constexpr double kTrial = 4e-4;
  const double until = now_s() + seconds;
  std::int64_t passes = 1;
  double took = run(passes);
  while (took < kTrial / 2 && passes < (std::int64_t{1} << 40)) {
    passes *= took < kTrial / 64 ? 16 : 2;
    took = run(passes);
  }
  double best = took / static_cast<double>(passes);
  do best = std::min(best, run(passes) / static_cast<double>(passes));
  while (now_s() < until);
  return best;
}

}  // namespace headroom
