#include <algorithm>
#include <deque>
#include <mutex>

#include "device/cpu/team.h"

namespace headroom {
namespace {

constexpr int kMaxThreads = 1024;  // beyond, a team costs as much as this one

std::vector<double> usual_costs() {
  std::vector<double> seconds = {0};
  for (int threads = 2; threads <= kMaxThreads; threads *= 2) seconds.push_back(1e-6 + 0.25e-6 * threads);
  return seconds;
}

std::atomic<const TeamCosts*> in_use = nullptr;

}  // namespace

TeamCosts::TeamCosts() : TeamCosts(usual_costs()) {}

TeamCosts::TeamCosts(std::vector<double> seconds) : by_threads_{0, 0} {
  if (seconds.size() < 2) seconds = usual_costs();
  std::size_t below = 0;
  int at = 1;
  for (int threads = 2; threads <= kMaxThreads; ++threads) {
    if (threads > 2 * at && below + 2 < seconds.size()) ++below, at *= 2;
    const double slope = (seconds[below + 1] - seconds[below]) / at;
    by_threads_.push_back(std::max(by_threads_.back(), seconds[below] + slope * (threads - at)));
  }
}

double TeamCosts::of(int threads) const {
  return by_threads_[static_cast<std::size_t>(std::clamp(threads, 1, kMaxThreads))];
}

int TeamCosts::threads_for(double seconds, int limit, int meetings) const {
  constexpr double kNearly = 0.25;  // of the cost: fewer threads wait less for the slowest of them
  const double times = 1 + 0.5 * meetings;
  const auto total = [&](int threads) { return seconds / threads + times * of(threads); };
  int best = 1;
  for (int threads = 2; threads <= limit; ++threads)
    if (total(threads) < total(best)) best = threads;
  const double enough = total(best) + kNearly * times * of(best);
  int threads = 1;
  while (total(threads) > enough) ++threads;
  return threads;
}

const TeamCosts& team_costs() {
  static const TeamCosts usual;
  const TeamCosts* const costs = in_use.load(std::memory_order_acquire);
  return costs == nullptr ? usual : *costs;
}

void use_team_costs(TeamCosts costs) {
  static std::mutex lock;
  static std::deque<TeamCosts> all;  // other threads may still read the last ones
  const std::lock_guard guard(lock);
  in_use.store(&all.emplace_back(std::move(costs)), std::memory_order_release);
}

}  // namespace headroom
