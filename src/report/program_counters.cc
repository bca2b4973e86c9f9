#include "report/program_counters.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/demangle.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/launch_counter.h"
#include "profile/gpu_counters.h"
#include "profile/trace_scope.h"
#include "report/counter_sheets.h"
#include "report/kernel_names.h"
#include "report/tuning_sheet.h"

namespace headroom {
namespace {

using LaunchSize = std::array<int, 6>;  // grid and block; zeros: any
using CounterSums = std::map<std::string, double>;

// A kernel as both runs know it.
struct LaunchPlace {
  std::string kernel, range;
  LaunchSize size = {};
  auto operator<=>(const LaunchPlace&) const = default;
};

// From the nearest description of a launch to the widest, each once.
std::vector<LaunchPlace> wider_places(const LaunchPlace& place) {
  std::vector<LaunchPlace> places = {place};
  for (LaunchPlace& wider : std::array<LaunchPlace, 3>{
           {{place.kernel, "*", place.size}, {place.kernel, place.range, {}}, {place.kernel, "*", {}}}})
    if (std::ranges::find(places, wider) == places.end()) places.push_back(std::move(wider));
  return places;
}

// What was counted, so that a launch finds the nearest counts of each pass.
class CountedLaunches {
 public:
  explicit CountedLaunches(const std::vector<inject::ProcessRecord>& processes) {
    for (const inject::ProcessRecord& process : processes)
      for (std::size_t row = 0; row < process.counted.size(); ++row) add(process, row);
  }

  // Adds the means of a launch, times the launches. False if this kernel was not counted.
  bool add_to(Counted& sum, const LaunchPlace& place, double launches) const {
    bool found = false;
    for (const std::string& pass : passes_) {
      const CounterSums* const sums = nearest_of(place, pass);
      if (sums == nullptr) continue;
      found = true;
      const std::string launches_key = pass + "launches";
      for (const auto& [counter, value] : *sums)
        if (counter.starts_with(pass) && counter != launches_key)
          sum.counters[counter] += launches * value / sums->at(launches_key);
    }
    if (found) sum.counters[counter_key(0, "launches")] += launches;
    return found;
  }
  bool empty() const { return sums_.empty(); }
  std::string passes_text() const {
    CounterPasses all;
    for (const std::string& pass : passes_) {
      CounterPass& made = all.passes.emplace_back();
      for (const std::string& counter : counters_)
        if (counter.starts_with(pass) && counter != pass + "launches")
          made.counters.push_back(counter.substr(pass.size()));
    }
    return all.text();
  }

 private:
  void add(const inject::ProcessRecord& process, std::size_t row) {
    const inject::CountedKernel& kernel = process.counted[row];
    LaunchPlace place{demangled(process.names[kernel.name].c_str()),
                      kernel.range == 0 ? "" : process.names[kernel.range - 1]};
    std::ranges::copy(kernel.grid, place.size.begin());
    std::ranges::copy(kernel.block, place.size.begin() + 3);
    for (const LaunchPlace& wider : wider_places(place)) {
      CounterSums& sums = sums_[wider];
      for (std::size_t c = 0; c < process.counters.size(); ++c)
        sums[process.counters[c]] += process.counts[row * process.counters.size() + c];
    }
    for (const std::string& counter : process.counters) {
      counters_.insert(counter);
      passes_.insert(counter.substr(0, counter.find(':') + 1));
    }
  }

  const CounterSums* nearest_of(const LaunchPlace& place, const std::string& pass) const {
    for (const LaunchPlace& wider : wider_places(place)) {
      const auto sums = sums_.find(wider);
      if (sums == sums_.end()) continue;
      if (const auto launches = sums->second.find(pass + "launches");
          launches != sums->second.end() && launches->second > 0)
        return &sums->second;
    }
    return nullptr;
  }

  std::map<LaunchPlace, CounterSums> sums_;
  std::set<std::string> passes_, counters_;  // passes as counters begin: "1:"
};

struct PlaceTime {
  double seconds = 0, launches = 0;  // in a step
};

// The launches of a step. Kernels of graphs are one, as often as graphs are launched.
std::map<LaunchPlace, PlaceTime> launches_of_step(const Trace& trace) {
  const TraceScope scope(trace);
  std::map<LaunchPlace, PlaceTime> places;
  std::set<std::pair<int, std::int64_t>> graphs;
  for (const Trace::Kernel& kernel : trace.kernels) {
    if (!scope.holds(kernel)) continue;
    LaunchPlace place{trace.text(kernel.name), kernel.range < 0 ? "" : trace.text(kernel.range)};
    std::ranges::copy(kernel.grid, place.size.begin());
    std::ranges::copy(kernel.block, place.size.begin() + 3);
    bool is_new = true;
    if (kernel.graph_node != 0) {
      place = {inject::kWholeGraph, ""};
      const int rank = trace.lanes[static_cast<std::size_t>(kernel.lane)].rank;
      is_new = graphs.insert({rank, kernel.correlation}).second;
    }
    PlaceTime& time = places[place];
    time.seconds += kernel.seconds(), time.launches += is_new ? 1 : 0;
  }
  double steps = 0;
  for (const Trace::Window& window : trace.windows) steps += window.steps;
  for (auto& [place, time] : places)
    time.seconds /= std::max(steps, 1.0), time.launches /= std::max(steps, 1.0);
  return places;
}

CountedRows longest_first(const std::map<std::string, Counted>& sums, bool kernels) {
  CountedRows rows;
  for (const auto& [name, counted] : sums)
    rows.emplace_back(kernels ? short_kernel_name(name) : name, counted);
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.seconds; });
  return rows;
}

std::vector<std::string> counting_notes(const std::vector<inject::ProcessRecord>& counted) {
  std::vector<std::string> notes;
  inject::CountingFacts sum;
  for (const inject::ProcessRecord& process : counted) {
    const inject::CountingFacts& facts = process.header.counting;
    sum.launches += facts.launches, sum.counted += facts.counted;
    sum.windows += facts.windows, sum.lost_windows += facts.lost_windows;
    sum.exchanges += facts.exchanges, sum.other_contexts += facts.other_contexts;
    for (const std::string& text : process.notes)
      if (std::ranges::find(notes, text) == notes.end()) notes.push_back(text);
  }
  if (sum.windows > 0)
    notes.push_back(fmt::format("Counted {} of {} launches, in {} windows, of which {} were left out.",
                                with_commas(sum.counted), with_commas(sum.launches), with_commas(sum.windows),
                                sum.lost_windows));
  if (sum.exchanges > 0)
    notes.push_back(
        fmt::format("{} launches exchange data between processes; they are never counted, "
                    "because they would wait for each other.",
                    with_commas(sum.exchanges)));
  if (sum.other_contexts > 0)
    notes.push_back(
        fmt::format("{} launches in other contexts were not counted.", with_commas(sum.other_contexts)));
  return notes;
}

}  // namespace

ProgramCounts program_counts(const Trace& trace, const std::vector<inject::ProcessRecord>& counted) {
  ProgramCounts counts;
  counts.notes = {
      "The program ran twice: times are of the first run, counters of the second. Kernels were "
      "joined by name, range and size."};
  for (std::string& text : counting_notes(counted)) counts.notes.push_back(std::move(text));
  const CountedLaunches launches(counted);
  if (launches.empty()) {
    if (counted.empty()) counts.notes.push_back("no counters: the second run used no CUDA");
    return counts;
  }
  counts.notes.push_back(launches.passes_text());
  std::int64_t warp_slots = 0;
  for (const inject::ProcessRecord& process : counted)
    warp_slots = std::max(warp_slots, process.header.counting.warp_slots);
  std::map<std::string, Counted> by_kernel, by_range;
  double all_s = 0, without_s = 0;
  bool graphs = false;
  for (const auto& [place, time] : launches_of_step(trace)) {
    all_s += time.seconds;
    graphs = graphs || place.kernel == inject::kWholeGraph;
    Counted one{.seconds = time.seconds, .warp_slots = static_cast<int>(warp_slots)};
    if (!launches.add_to(one, place, time.launches)) {
      without_s += time.seconds;
      continue;
    }
    by_kernel[place.kernel].add(one);
    if (!place.range.empty()) by_range[place.range].add(one);
  }
  if (graphs)
    counts.notes.push_back(
        fmt::format("Kernels of a graph have counters only as a whole: row {}.", inject::kWholeGraph));
  if (without_s > 0)
    counts.notes.push_back(
        fmt::format("Kernels with {:.1f} % of the kernel time have no counters.", 100 * without_s / all_s));
  counts.kernels = longest_first(by_kernel, true), counts.ranges = longest_first(by_range, false);
  return counts;
}

std::vector<Sheet> program_counter_sheets(const ProgramCounts& counts) {
  std::vector<Sheet> sheets;
  for (Sheet& sheet :
       std::array{counters_sheet("launch_counters", {.key = "kernel", .title = "kernel"}, counts.kernels),
                  counters_sheet("layer_counters", {.key = "layer", .title = "range"}, counts.ranges),
                  tuning_sheet(counts.kernels, "kernel")})
    if (sheet.rows() > 0) sheets.push_back(std::move(sheet));
  return sheets;
}

}  // namespace headroom
