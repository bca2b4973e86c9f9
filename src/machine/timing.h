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

// Which clock a trial goes by. Where nothing is shared between the threads, each one's own CPU time says the
// same as the wall on a quiet machine, and still the truth on a busy one; their rates add up. What is shared
// needs the wall: a thread that another program held up would have left its part to the rest.
enum class Clock { wall, cpu };

// Seconds that work(thread) took the team. Wall: from the moment that all of it is awake to its last member's
// end. CPU: such that the team's rate is the sum of its members' rates; each does the same amount.
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

// Time of one undisturbed pass, from about `seconds` of trials; run(passes) returns the seconds that many
// took. Trials are short: a ceiling is wanted, and the shorter a trial the likelier that nothing interrupted
// it; yet long beside the two barriers of a team (about 1 us each). By the wall the least one counts. CPU
// clocks may also err downwards around an interruption, so there the least twentieth part is left out.
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
