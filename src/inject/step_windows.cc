#include "inject/step_windows.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "inject/step_search.h"
#include "inject/step_spans.h"

namespace headroom::inject {
namespace {

// A kernel launched by itself, or all kernels of one launch of a graph.
struct Launch : Trace::Interval {
  std::int64_t correlation = 0;
  bool graph = false, whole = false;  // whole: a graph whose kernels are unknown
  std::vector<int> names = {};
};

std::set<int> all_ranks(const Trace& trace) {
  std::set<int> ranks;
  for (const Trace::Lane& lane : trace.lanes) ranks.insert(lane.rank);
  return ranks;
}

int rank_at(const Trace& trace, int lane) { return trace.lanes[static_cast<std::size_t>(lane)].rank; }

// In the order in which the host launched them: on several streams kernels may begin in another.
std::vector<Launch> launches_of(const Trace& trace, int rank) {
  std::vector<Launch> launches;
  std::map<std::int64_t, std::size_t> graphs;  // by correlation
  for (const Trace::Kernel& kernel : trace.kernels) {
    if (rank_at(trace, kernel.lane) != rank) continue;
    const bool graph = kernel.graph_node != 0;
    if (const auto it = graphs.find(kernel.correlation); graph && it != graphs.end()) {
      Launch& launch = launches[it->second];
      launch.end_ns = std::max(launch.end_ns, kernel.end_ns);
      launch.names.push_back(kernel.name);
      continue;
    }
    if (graph) graphs[kernel.correlation] = launches.size();
    launches.push_back(
        {{kernel.begin_ns, kernel.end_ns}, kernel.correlation, graph, kernel.whole_graph(), {kernel.name}});
  }
  std::ranges::stable_sort(launches, {}, &Launch::correlation);
  return launches;
}

std::vector<int> symbols_of(std::vector<Launch>& launches) {
  std::map<std::pair<bool, std::vector<int>>, int> known;
  std::vector<int> symbols;
  for (Launch& launch : launches) {
    std::ranges::sort(launch.names);  // branches of a graph run in any order
    symbols.push_back(known.try_emplace({launch.graph, launch.names}, int(known.size())).first->second);
  }
  return symbols;
}

std::size_t different_names(const Launch& launch) {
  return std::set<int>(launch.names.begin(), launch.names.end()).size();
}

// The last steps of the last runs. A run's last step ends where the next begins, so that its pauses count: of
// several steps the last one only marks that end.
std::vector<Trace::Window> windows_of(const std::vector<Launch>& launches, const FoundSteps& found, int rank,
                                      int max_steps) {
  std::vector<Trace::Window> windows;
  int left = max_steps;
  for (auto run = found.runs.rbegin(); run != found.runs.rend() && left > 0; ++run) {
    if (run->steps == 1 && found.steps() > found.runs.size()) continue;
    const bool marks_end = run->steps > 1;
    const std::size_t all = run->steps - (marks_end ? 1 : 0);
    const std::size_t steps = std::min<std::size_t>(all, static_cast<std::size_t>(left));
    const std::size_t first = run->begin + (all - steps) * found.period,
                      last = run->begin + all * found.period;
    Trace::Window window;
    window.begin_ns = launches[first].begin_ns;
    window.end_ns = marks_end ? launches[last].begin_ns : window.begin_ns;
    for (std::size_t i = first; i < last; ++i) {
      if (!marks_end) window.end_ns = std::max(window.end_ns, launches[i].end_ns);
      window.captured = window.captured || launches[i].graph;
    }
    window.rank = rank, window.steps = int(steps);
    if (window.end_ns > window.begin_ns) windows.push_back(window), left -= int(steps);
  }
  std::ranges::reverse(windows);
  return windows;
}

// Ranges that follow each other share a window: the device may still work for one when the next begins.
std::vector<Trace::Window> windows_of_range(Trace& trace, int rank, const StepRule& rule) {
  std::vector<Trace::Span*> steps;
  for (Trace::Span& span : trace.spans)
    if (rank_at(trace, span.lane) == rank && trace.text(span.name) == rule.range) steps.push_back(&span);
  std::ranges::stable_sort(steps, {}, [](const Trace::Span* span) { return span->begin_ns; });
  const std::size_t skipped = steps.size() > static_cast<std::size_t>(rule.max_steps)
                                  ? steps.size() - static_cast<std::size_t>(rule.max_steps)
                                  : 0;
  std::vector<Trace::Window> windows;
  for (std::size_t i = skipped; i < steps.size(); ++i) {
    steps[i]->kind = SpanKind::batch;
    const std::int64_t length = steps[i]->end_ns - steps[i]->begin_ns;
    if (windows.empty() || steps[i]->begin_ns - windows.back().end_ns > length / 2) {
      windows.emplace_back();
      windows.back().begin_ns = steps[i]->begin_ns, windows.back().rank = rank;
    }
    windows.back().end_ns = std::max(windows.back().end_ns, steps[i]->end_ns);
    ++windows.back().steps;
  }
  return windows;
}

Trace::Window everything_of(const Trace& trace, int rank) {
  Trace::Window window;
  window.begin_ns = INT64_MAX, window.end_ns = INT64_MIN;
  const auto cover = [&](const auto& events) {
    for (const auto& event : events)
      if (rank_at(trace, event.lane) == rank) {
        window.begin_ns = std::min(window.begin_ns, event.begin_ns);
        window.end_ns = std::max(window.end_ns, event.end_ns);
      }
  };
  cover(trace.kernels), cover(trace.copies), cover(trace.calls), cover(trace.spans);
  window.rank = rank, window.steps = window.begin_ns < window.end_ns ? 1 : 0;
  return window;
}

// Why a range was asked for in vain. The run is over: its profile must not be lost for that.
std::string no_such_range(const Trace& trace, const std::string& range) {
  std::vector<std::string> names;
  for (const Trace::Span& span : trace.spans)
    if (std::ranges::find(names, trace.text(span.name)) == names.end())
      names.push_back(trace.text(span.name));
  if (names.empty()) return fmt::format("The program has no NVTX range '{}': it has none at all. ", range);
  return fmt::format("The program has no NVTX range '{}' ({}). ", range, nearest(range, names).text);
}

std::vector<StepLaunches> first_launches(const std::vector<Launch>& launches, const FoundSteps& found) {
  std::vector<StepLaunches> steps;
  for (const FoundSteps::Run& run : found.runs)
    for (std::size_t step = 0; step < run.steps; ++step) {
      const std::size_t first = run.begin + step * found.period, next = first + found.period;
      if (next < launches.size()) steps.push_back({launches[first].correlation, launches[next].correlation});
    }
  return steps;
}

std::vector<Trace::Window> searched_windows(Trace& trace, int rank, int max_steps, std::string& words) {
  std::vector<Launch> launches = launches_of(trace, rank);
  std::vector<std::int64_t> begins;
  for (const Launch& launch : launches) begins.push_back(launch.begin_ns);
  const std::vector<int> symbols = symbols_of(launches);
  std::vector<std::size_t> kernels;
  std::set<int> all_names;
  for (const Launch& launch : launches) all_names.insert(launch.names.begin(), launch.names.end());
  for (const Launch& launch : launches)  // nobody knows what a whole graph holds: as much as the rest
    kernels.push_back(launch.whole ? all_names.size() : different_names(launch));
  const std::optional<FoundSteps> found = find_steps(symbols, begins, kernels);
  if (!found) return {};
  if (words.empty())
    words = fmt::format("Steps were found by their launches: the same {} again and again, {} steps in all.",
                        found->period == 1 ? "one" : with_commas(std::int64_t(found->period)),
                        with_commas(std::int64_t(found->steps())));
  add_step_spans(trace, rank, first_launches(launches, *found));
  return windows_of(launches, *found, rank, max_steps);
}

}  // namespace

std::string set_step_windows(Trace& trace, const StepRule& rule) {
  trace.windows.clear();
  const auto add = [&](const std::vector<Trace::Window>& windows) {
    trace.windows.insert(trace.windows.end(), windows.begin(), windows.end());
  };
  std::string before, words;
  if (!rule.range.empty()) {
    for (const int rank : all_ranks(trace)) add(windows_of_range(trace, rank, rule));
    if (!trace.windows.empty()) return fmt::format("A step is an NVTX range '{}'.", rule.range);
    before = no_such_range(trace, rule.range);
  }
  for (const int rank : all_ranks(trace)) add(searched_windows(trace, rank, rule.max_steps, words));
  if (!trace.windows.empty()) return before + words;
  for (const int rank : all_ranks(trace))
    if (const Trace::Window all = everything_of(trace, rank); all.steps > 0) trace.windows.push_back(all);
  return before + "No steps were found: everything that was recorded counts as one.";
}

}  // namespace headroom::inject
