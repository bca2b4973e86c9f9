#include "inject/step_search.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace headroom::inject {
namespace {

constexpr std::size_t kLookAhead = 16;   // occurrences of one kernel within a step that suggest its length
constexpr std::size_t kCandidates = 64;  // lengths that are tried, by each of two orders
constexpr double kMinCoverage = 0.25;    // of all launches, by repeated blocks
constexpr double kEnoughKinds = 0.75;    // of the kinds of launches between the first and the last block
constexpr std::size_t kMinSteps = 3;

struct Region {  // launches [begin, end) repeat with the period
  std::size_t begin = 0, end = 0;
  std::size_t length() const { return end - begin; }
};

struct Candidate {
  std::size_t period = 0;
  std::vector<Region> regions;
  std::size_t covered = 0, steps = 0;
  double kinds = 0;
};

// How often two equal launches lie so far apart.
std::vector<std::size_t> distances(const std::vector<int>& launches) {
  std::vector<std::size_t> counts(launches.size() / 2 + 1);
  std::unordered_map<int, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < launches.size(); ++i) places[launches[i]].push_back(i);
  for (const auto& [launch, list] : places)
    for (std::size_t i = 0; i < list.size(); ++i)
      for (std::size_t k = 1; k <= kLookAhead && i + k < list.size(); ++k) {
        const std::size_t distance = list[i + k] - list[i];
        if (distance < counts.size()) ++counts[distance];
      }
  return counts;
}

std::vector<std::size_t> candidate_periods(const std::vector<int>& launches) {
  const std::vector<std::size_t> counts = distances(launches);
  std::vector<std::size_t> all;
  for (std::size_t p = 1; p < counts.size(); ++p)
    if (counts[p] > 0) all.push_back(p);
  std::vector<std::size_t> chosen;
  const auto choose = [&](auto weight) {
    const std::size_t kept = std::min(kCandidates, all.size());
    std::ranges::partial_sort(all, all.begin() + std::ptrdiff_t(kept), std::greater(), weight);
    chosen.insert(chosen.end(), all.begin(), all.begin() + std::ptrdiff_t(kept));
  };
  choose([&](std::size_t p) { return std::pair(counts[p], -std::int64_t(p)); });
  choose([&](std::size_t p) { return std::pair(counts[p] * p, -std::int64_t(p)); });
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::vector<Region> repeated_regions(const std::vector<int>& launches, std::size_t period) {
  std::vector<Region> regions;
  const std::size_t last = launches.size() - period;
  for (std::size_t i = 0; i < last;) {
    if (launches[i] != launches[i + period]) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < last && launches[i] == launches[i + period]) ++i;
    if (i - begin < period) continue;
    // Two runs of the same loop may share launches at their border.
    const std::size_t from = regions.empty() ? begin : std::max(begin, regions.back().end);
    if (i + period - from >= 2 * period) regions.push_back({from, i + period});
  }
  return regions;
}

// The share of the kinds of launches in the candidate's part of the run that one block holds.
double kinds_in_block(const std::vector<int>& launches, const Candidate& candidate) {
  std::unordered_map<int, std::size_t> around;
  for (std::size_t i = candidate.regions.front().begin; i < candidate.regions.back().end; ++i)
    ++around[launches[i]];
  std::erase_if(around, [](const auto& kind) { return kind.second < 2; });
  const Region& longest = *std::ranges::max_element(candidate.regions, {}, &Region::length);
  std::unordered_set<int> block;
  for (std::size_t i = longest.begin; i < longest.begin + candidate.period; ++i) block.insert(launches[i]);
  return around.empty() ? 0 : double(block.size()) / double(around.size());
}

std::optional<Candidate> best_candidate(const std::vector<int>& launches) {
  std::optional<Candidate> best;
  for (const std::size_t period : candidate_periods(launches)) {
    Candidate c{.period = period, .regions = repeated_regions(launches, period)};
    for (const Region& region : c.regions) c.covered += region.length(), c.steps += region.length() / period;
    if (c.steps < kMinSteps || double(c.covered) < kMinCoverage * double(launches.size())) continue;
    c.kinds = kinds_in_block(launches, c);
    if (c.kinds >= kEnoughKinds) return c;  // the shortest
    const auto score = [](const Candidate& of) { return of.kinds * double(of.covered); };
    if (!best || score(c) > score(*best)) best = std::move(c);
  }
  return best;
}

// Where in a block the longest usual pause lies.
std::size_t first_of_step(const Region& region, std::size_t period, const std::vector<std::int64_t>& begins) {
  if (begins.empty()) return 0;
  std::vector<double> pause(period);
  std::vector<std::size_t> count(period);
  for (std::size_t i = std::max<std::size_t>(region.begin, 1); i < region.end; ++i) {
    const std::size_t place = (i - region.begin) % period;
    if (i == region.begin) continue;  // what came before is no part of it
    pause[place] += double(begins[i] - begins[i - 1]), ++count[place];
  }
  for (std::size_t i = 0; i < period; ++i) pause[i] /= double(std::max<std::size_t>(count[i], 1));
  return static_cast<std::size_t>(std::ranges::max_element(pause) - pause.begin());
}

}  // namespace

std::size_t FoundSteps::steps() const {
  return std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                         [](std::size_t sum, const Run& run) { return sum + run.steps; });
}

std::optional<FoundSteps> find_steps(const std::vector<int>& launches,
                                     const std::vector<std::int64_t>& begins) {
  if (launches.size() < kMinSteps) return {};
  const std::optional<Candidate> found = best_candidate(launches);
  if (!found) return {};
  const std::size_t period = found->period;
  const Region& longest = *std::ranges::max_element(found->regions, {}, &Region::length);
  const auto step = launches.begin() + std::ptrdiff_t(longest.begin + first_of_step(longest, period, begins));
  FoundSteps steps{period, {}};
  for (std::size_t i = 0; i + period <= launches.size();) {
    if (!std::equal(step, step + std::ptrdiff_t(period), launches.begin() + std::ptrdiff_t(i))) {
      ++i;
      continue;
    }
    const bool follows =
        !steps.runs.empty() && steps.runs.back().begin + steps.runs.back().steps * period == i;
    if (follows)
      ++steps.runs.back().steps;
    else
      steps.runs.push_back({i, 1});
    i += period;
  }
  if (steps.steps() < 2) return {};
  return steps;
}

}  // namespace headroom::inject
