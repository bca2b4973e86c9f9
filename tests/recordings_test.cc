// Recorded profiles (tests/recordings/README.md): their tables are made again and compared, and must add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "profile/rank_trace.h"
#include "profile/replay.h"
#include "report/profile_files.h"
#include "report/profile_report.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recordings() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(HEADROOM_SOURCE_DIR) / "tests/recordings"))
    if (fs::exists(entry.path() / "trace.json")) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

bool rewrites() {
  const char* set = std::getenv("HEADROOM_UPDATE");
  return set != nullptr && std::string_view(set) == "1";
}

// The first lines that differ, as kept and as made now. Empty if there are none.
std::string first_differences(const std::string& kept, const std::string& made) {
  if (kept == made) return {};
  constexpr int kShown = 5;
  const std::vector<std::string> was = split(kept, '\n'), is = split(made, '\n');
  std::string text;
  int shown = 0;
  for (std::size_t i = 0; i < std::max(was.size(), is.size()) && shown < kShown; ++i) {
    const bool in_was = i < was.size(), in_is = i < is.size();
    if (in_was && in_is && was[i] == is[i]) continue;
    text += fmt::format("line {}\n", i + 1);
    if (in_was) text += "  - " + was[i] + "\n";
    if (in_is) text += "  + " + is[i] + "\n";
    ++shown;
  }
  return text;
}

TEST(Recordings, ThereAreSome) { EXPECT_GE(recordings().size(), 2u); }

TEST(Recordings, DifferencesAreShownByLine) {
  EXPECT_EQ(first_differences("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(first_differences("a\nb\n", "a\nc\n"), "line 2\n  - b\n  + c\n");
  EXPECT_EQ(first_differences("a", "a\nb"), "line 2\n  + b\n");
}

TEST(Recordings, TablesAreTheSame) {
  for (const fs::path& folder : recordings()) {
    std::set<std::string> names;
    for (const Sheet& sheet : profile_sheets(read_profile(folder))) {
      EXPECT_TRUE(names.insert(sheet.name() + ".txt").second) << "two tables " << sheet.name();
      const fs::path file = folder / "tables" / (sheet.name() + ".txt");
      if (rewrites()) write_file(file, sheet.text());
      ASSERT_TRUE(fs::exists(file)) << file << ": set HEADROOM_UPDATE=1 once to write it";
      const std::string differences = first_differences(read_file(file), sheet.text());
      EXPECT_TRUE(differences.empty()) << file << " (HEADROOM_UPDATE=1 rewrites it)\n" << differences;
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder / "tables")) files.push_back(entry.path());
    for (const fs::path& file : files) {
      if (names.contains(file.filename())) continue;
      if (rewrites())
        fs::remove(file);
      else
        ADD_FAILURE() << file << " belongs to no table";
    }
  }
}

TEST(Recordings, AreSmallAndNameNoMachine) {
  for (const fs::path& folder : recordings()) {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) bytes += entry.file_size();
    EXPECT_LT(bytes, 1'000'000u) << folder << ": record fewer steps";
    EXPECT_FALSE(fs::exists(folder / "facts.json")) << folder << ": it holds the name of a host";
    for (const std::string& word : read_profile(folder).record.command)
      EXPECT_FALSE(word.starts_with("/")) << folder << ": " << word;
  }
}

TEST(Recordings, PartsAddUpToTheStep) {
  for (const fs::path& folder : recordings()) {
    const RunProfile profile = read_profile(folder);
    EXPECT_FALSE(ranks_of(profile.trace).empty()) << folder;
    for (const int rank : ranks_of(profile.trace)) {
      const StepParts parts = step_parts(profile.trace, rank);
      EXPECT_GT(parts.step, 0) << folder;
      EXPECT_NEAR(parts.sum(), parts.step, 0.01 * parts.step) << folder << ", rank " << rank;
    }
  }
}

TEST(Recordings, AReplayWithoutChangesTakesTheMeasuredTime) {
  for (const fs::path& folder : recordings()) {
    const Trace trace = read_profile(folder).trace;
    for (const int rank : ranks_of(trace)) {
      const Replay replay(trace, rank);
      EXPECT_NEAR(replay.seconds(), replay.measured_s(), 0.03 * replay.measured_s())
          << folder << ", rank " << rank;
    }
  }
}

// Numbers of a column of the layers, by the name of the row.
double layer_number(const Sheet& sheet, const std::string& name, const char* column) {
  for (std::size_t i = 0; i < sheet.rows(); ++i) {
    const double* number = std::get_if<double>(&sheet.at(i, column));
    if (std::get<std::string>(sheet.at(i, "layer")) == name) return number != nullptr ? *number : 0;
  }
  return 0;
}

// The sum of a column over the rows above "all layers".
double layers_sum(const Sheet& sheet, const char* column) {
  double sum = 0;
  for (std::size_t i = 0; i < sheet.rows(); ++i) {
    if (std::get<std::string>(sheet.at(i, "layer")) == "all layers") return sum;
    if (const double* number = std::get_if<double>(&sheet.at(i, column))) sum += *number;
  }
  ADD_FAILURE() << "no row of all layers";
  return 0;
}

TEST(Recordings, LayersAddUpToTheStep) {
  for (const fs::path& folder : recordings()) {
    SCOPED_TRACE(folder.string());
    const RunProfile profile = read_profile(folder);
    if (!profile.record.plan) continue;
    const Sheet layers = profiled_layer_sheet(profile);
    const double all = layer_number(layers, "all layers", "total_ms");
    double phases = 0;
    for (const char* column : {"forward_ms", "backward_ms", "update_ms"}) {
      phases += layer_number(layers, "all layers", column);
      EXPECT_NEAR(layers_sum(layers, column), layer_number(layers, "all layers", column), 0.01 * all);
    }
    EXPECT_NEAR(phases, all, 0.01 * all);
    EXPECT_NEAR(layers_sum(layers, "total_ms"), all, 0.01 * all);
    // What follows the layers: rows that take the rest of the step, in which two kernels at once count back.
    double rest = 0;
    for (const char* row :
         {"kernels of no layer", "two kernels at once", "not measured", "copies, host and idle"})
      rest += layer_number(layers, row, "total_ms");
    const double step = 1e3 * step_parts(profile.trace).step;
    EXPECT_NEAR(all + rest, step, 0.01 * step);
    EXPECT_LT(std::abs(layer_number(layers, "not measured", "total_ms")), 0.01 * step);
  }
}

// On a CPU a phase is a span around the steps of its layers; a GPU runs phases of one batch while the host is
// already in another.
TEST(Recordings, LayersAddUpToPhasesWithinTheStep) {
  for (const fs::path& folder : recordings()) {
    SCOPED_TRACE(folder.string());
    const RunProfile profile = read_profile(folder);
    const Trace& trace = profile.trace;
    const RankTrace own(trace, 0);
    if (own.has_kernels() || !profile.record.plan) continue;
    const Sheet layers = profiled_layer_sheet(profile);
    const double step = 1e3 * step_parts(trace).step, each = 1e3 / own.steps();
    const double forward = each * own.main_spans("forward").seconds(),
                 backward = each * own.main_spans("backward").seconds(),
                 all = each * own.main_spans(SpanKind::phase).seconds();
    EXPECT_NEAR(layer_number(layers, "all layers", "forward_ms"), forward, 0.01 * step);
    EXPECT_NEAR(layer_number(layers, "all layers", "backward_ms"), backward, 0.01 * step);
    EXPECT_NEAR(layer_number(layers, "all layers", "update_ms"), all - forward - backward, 0.01 * step);
    // Between phases the host prepares the next batch, 20 us in a step of lenet5: no layer runs there.
    const StepParts parts = step_parts(trace);
    const double busy = 1e3 * (parts.compute + parts.transfer + parts.waiting);
    EXPECT_LE(busy, all + 0.01 * step);
    EXPECT_LE(all, 1.001 * step);
  }
}

// Kernels that belong to no step of the plan.
bool feeds_the_network(const std::string& kernel) {
  return kernel.find("copy_slices") != kernel.npos ||  // gathers the rows of a shuffled batch
         kernel.find("store_bytes") != kernel.npos;    // sets a learning rate, or the number of a step
}

TEST(Recordings, EveryKernelBelongsToAStep) {
  for (const fs::path& folder : recordings()) {
    const Trace trace = read_profile(folder).trace;
    for (const int rank : ranks_of(trace)) {
      const RankTrace own(trace, rank);
      std::set<std::string> lost;
      for (const Trace::Kernel& k : trace.kernels)
        if (own.contains(k.lane) && k.step < 0 && !own.window().clipped(k).empty() &&
            !feeds_the_network(trace.text(k.name)))
          lost.insert(trace.text(k.name));
      EXPECT_TRUE(lost.empty()) << folder << ", rank " << rank << ": "
                                << fmt::format("{}", fmt::join(lost, "; "));
    }
  }
}

// On one stream kernels follow each other, so that their times fill the part of the step called compute.
// Those of vgg fill the step.
TEST(Recordings, KernelsAddUpToTheStep) {
  for (const fs::path& folder : recordings()) {
    SCOPED_TRACE(folder.string());
    const RunProfile profile = read_profile(folder);
    const Trace& trace = profile.trace;
    for (const int rank : ranks_of(trace)) {
      const RankTrace own(trace, rank);
      const StepParts parts = step_parts(trace, rank);
      std::set<int> streams;
      for (const Trace::Kernel& k : trace.kernels)
        if (own.contains(k.lane) && !own.window().clipped(k).empty()) streams.insert(k.lane);
      if (streams.size() != 1 || parts.compute < 0.9 * parts.step) continue;
      double seconds = 0;
      for (const Trace::Interval& k : own.each(trace.kernels, [&](const Trace::Kernel& kernel) {
             return !is_exchange_kernel(trace.text(kernel.name));
           }))
        seconds += k.seconds() / parts.steps;
      EXPECT_NEAR(seconds, parts.compute, 0.03 * parts.step) << "rank " << rank;
      if (profile.record.model && profile.record.model->name.starts_with("vgg")) {
        EXPECT_NEAR(seconds, parts.step, 0.03 * parts.step);
      }
    }
  }
}

}  // namespace
}  // namespace headroom::testing
