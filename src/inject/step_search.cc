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
// Blocks of many kinds of launches are steps even of a program that mostly repeats one kernel, to time it
// say.
constexpr std::size_t kManyKinds = 8;
constexpr double kMinCoverageOfMany = 0.02;
constexpr std::size_t kTimesTheKinds = 4;  // that make a longer block the step
constexpr double kEnoughKinds = 0.75;      // of the kinds of launches between the first and the last block
constexpr std::size_t kMinSteps = 3;

struct Region {  // launches [begin, end) repeat with the period
  std::size_t begin = 0, end = 0;
  std::size_t length() const { return end - begin; }
};

struct Candidate {
  std::size_t period = 0;
  std::vector<Region> regions;
  std::size_t covered = 0, steps = 0;  // covered: kernels
  std::size_t block_kinds = 0;         // of kernels in a block
  double kinds = 0;                    // their share of the kinds around
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

// The launches, and how many different kernels each of them holds.
class Launches {
 public:
  Launches(const std::vector<int>& launches, const std::vector<std::size_t>& kernels) : list(launches) {
    before_.push_back(0);
    for (std::size_t i = 0; i < launches.size(); ++i)
      before_.push_back(before_.back() + (kernels.empty() ? 1 : kernels[i]));
  }
  std::size_t kernels(std::size_t begin, std::size_t end) const { return before_[end] - before_[begin]; }
  std::size_t all_kernels() const { return before_.back(); }
  std::size_t kinds(std::size_t begin, std::size_t end) const {
    std::unordered_set<int> seen;
    std::size_t kinds = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (seen.insert(list[i]).second) kinds += kernels(i, i + 1);
    return kinds;
  }

  const std::vector<int>& list;

 private:
  std::vector<std::size_t> before_;  // the kernels in front of each launch
};

// A loop over one kernel repeats with every period. Such regions are none of a candidate that has blocks of
// many kinds.
void drop_poorer_regions(const Launches& launches, Candidate& candidate) {
  std::vector<std::size_t> kinds;
  for (const Region& region : candidate.regions)
    kinds.push_back(launches.kinds(region.begin, region.begin + candidate.period));
  if (kinds.empty()) return;
  candidate.block_kinds = std::ranges::max(kinds);
  std::vector<Region> kept;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (2 * kinds[i] >= candidate.block_kinds) kept.push_back(candidate.regions[i]);
  candidate.regions = std::move(kept);
}

// The share of the kinds of kernels in the candidate's part of the run that one block holds. Launches that
// occur once do not count.
double share_of_kinds(const Launches& launches, const Candidate& candidate) {
  std::unordered_set<int> once, repeated;
  std::size_t around = 0;
  for (std::size_t i = candidate.regions.front().begin; i < candidate.regions.back().end; ++i)
    if (!once.insert(launches.list[i]).second && repeated.insert(launches.list[i]).second)
      around += launches.kernels(i, i + 1);
  return around == 0 ? 0 : double(candidate.block_kinds) / double(around);
}

bool covers_enough(const Candidate& c, std::size_t kernels) {
  const double share = double(c.covered) / double(kernels);
  return share >= kMinCoverage || (c.block_kinds >= kManyKinds && share >= kMinCoverageOfMany);
}

// The shortest block that holds most kinds of kernels around it, else the one that covers most.
std::optional<Candidate> best_candidate(const Launches& launches) {
  std::optional<Candidate> best, shortest;
  for (const std::size_t period : candidate_periods(launches.list)) {
    Candidate c{.period = period, .regions = repeated_regions(launches.list, period)};
    drop_poorer_regions(launches, c);
    for (const Region& region : c.regions)
      c.covered += launches.kernels(region.begin, region.end), c.steps += region.length() / period;
    if (c.steps < kMinSteps || !covers_enough(c, launches.all_kernels())) continue;
    c.kinds = share_of_kinds(launches, c);
    const auto score = [](const Candidate& of) { return of.kinds * double(of.covered); };
    if (c.kinds >= kEnoughKinds && (!shortest || c.block_kinds >= kTimesTheKinds * shortest->block_kinds))
      shortest = c;
    if (!best || score(c) > score(*best)) best = std::move(c);
  }
  return shortest ? shortest : best;
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
                                     const std::vector<std::int64_t>& begins,
                                     const std::vector<std::size_t>& kernels) {
  if (launches.size() < kMinSteps) return {};
  const std::optional<Candidate> found = best_candidate(Launches(launches, kernels));
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
