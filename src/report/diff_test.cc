#include "report/diff.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace headroom {
namespace {

// Ten samples of about this many milliseconds, 0.1 % apart.
std::vector<double> about(double ms) {
  std::vector<double> list;
  for (int i = 0; i < 10; ++i) list.push_back(1e-3 * ms * (1 + 1e-4 * (i * 7 % 10)));
  return list;
}

struct StepOf {
  std::string layer, op, kernel;
  double ms;
  std::vector<Charge> charges = {};
};

RecordedRun run_of(const std::vector<StepOf>& steps, double whole_ms) {
  RecordedRun run{"run.json", {}};
  RunRecord& r = run.record;
  r.verb = "train";
  r.model = RunRecord::Model{.name = "toy", .parameters = 5};
  r.plan = RecordedPlan{.mode = "train", .precision = "fp32", .device = "a CPU", .batch = 64, .threads = 2};
  r.measurement.emplace();
  for (const StepOf& s : steps) {
    RecordedStep step{.layer = s.layer, .phase = "forward", .op = s.op, .kernel = s.kernel};
    step.charges = s.charges;
    if (s.charges.empty()) step.charges = {{s.layer, Phase::forward, 1}};
    r.plan->steps.push_back(step);
    r.measurement->steps.push_back({.seconds = about(s.ms)});
  }
  if (whole_ms > 0) r.measurement->run_s = about(whole_ms);
  return run;
}

const DiffRow& named(const std::vector<DiffRow>& rows, const std::string& name,
                     const std::string& what = "") {
  for (const DiffRow& row : rows)
    if (row.name == name && row.what == what) return row;
  throw std::runtime_error("no row " + name + " " + what);
}

TEST(Diff, RowsAreMatchedByLayerOperatorAndOccurrence) {
  const RecordDiff diff =
      compare_records(run_of({{"a", "conv", "x", 1}, {"a", "copy", "c", 1}, {"a", "copy", "c", 2}}, 4),
                      run_of({{"a", "copy", "c", 1}, {"a", "copy", "c", 4}, {"a", "conv", "y", 0.5}}, 5));
  ASSERT_EQ(diff.steps.size(), 3u);
  EXPECT_EQ(diff.steps[0].kernel, "x -> y");
  EXPECT_EQ(diff.steps[0].change, Change::faster);
  EXPECT_EQ(diff.steps[1].change, Change::same);
  EXPECT_EQ(diff.steps[2].change, Change::slower);
  EXPECT_NEAR(*diff.steps[2].percent(), 100, 1e-9);
  EXPECT_EQ(diff.whole->change, Change::slower);
  EXPECT_NEAR(*diff.whole->percent(), 25, 1e-9);
  EXPECT_EQ(diff.whole->name, "training step");
}

TEST(Diff, RowsOfOneSideAreNewOrGone) {
  const RecordDiff diff = compare_records(run_of({{"a", "conv", "x", 1}, {"b", "pool", "p", 2}}, 3),
                                          run_of({{"a", "conv", "x", 1}, {"c", "norm", "n", 4}}, 3));
  EXPECT_EQ(named(diff.layers, "b").change, Change::gone);
  EXPECT_EQ(named(diff.layers, "c").change, Change::added);
  EXPECT_FALSE(named(diff.layers, "c").percent());
  EXPECT_EQ(named(diff.steps, "b", "pool").change, Change::gone);
  EXPECT_NEAR(named(diff.steps, "c", "norm").after.spread.median, 4e-3, 4e-6);
  EXPECT_EQ(name_of(Change::added), "new");
}

// A step is charged to layers and phases by its shares; the samples are added run by run.
TEST(Diff, LayersAndPhasesAddUpTheirShares) {
  const std::vector<Charge> shared = {{"a", Phase::backward, 0.25}, {"b", Phase::update, 0.75}};
  const RecordDiff diff = compare_records(run_of({{"a", "f", "x", 1}, {"b", "g", "y", 4, shared}}, 0),
                                          run_of({{"a", "f", "x", 1}, {"b", "g", "y", 8, shared}}, 0));
  const double ms = 1e-3 + 4.5e-7;  // the median of about(1)
  EXPECT_NEAR(named(diff.layers, "a").before.spread.median, 2 * ms, 1e-9);
  EXPECT_NEAR(named(diff.layers, "a").after.spread.median, 3 * ms, 1e-9);
  EXPECT_NEAR(named(diff.layers, "b").after.spread.median, 6 * ms, 1e-9);
  EXPECT_EQ(named(diff.phases, "forward").change, Change::same);
  EXPECT_EQ(named(diff.phases, "update").change, Change::slower);
  EXPECT_NEAR(diff.whole->after.spread.median, 9 * ms, 1e-9) << "not timed as a whole: the sum of the steps";
}

TEST(Diff, OnePhaseAloneIsNotListed) {
  const RecordedRun run = run_of({{"a", "f", "x", 1}}, 1);
  EXPECT_TRUE(compare_records(run, run).phases.empty());
}

TEST(Diff, ARunIsTheSameAsItself) {
  const RecordedRun run = run_of({{"a", "f", "x", 1}, {"b", "g", "y", 2}}, 3);
  const RecordDiff diff = compare_records(run, run);
  EXPECT_TRUE(diff.settings.empty());
  EXPECT_EQ(diff.whole->change, Change::same);
  for (const auto* rows : {&diff.layers, &diff.steps})
    for (const DiffRow& row : *rows) EXPECT_EQ(row.change, Change::same) << row.name;
}

TEST(Diff, OneSampleIsNotEnough) {
  RecordedRun run = run_of({{"a", "f", "x", 1}}, 1);
  run.record.measurement->run_s = {5};  // as records of version 1
  EXPECT_EQ(compare_records(run_of({{"a", "f", "x", 1}}, 1), run).whole->change, Change::unsure);
}

TEST(Diff, OtherSettingsAreNamed) {
  RecordedRun other = run_of({}, 1);
  other.record.model->name = "big";
  other.record.plan->batch = 128, other.record.plan->precision = "bf16", other.record.plan->device = "a GPU";
  other.record.ranks = {{"count", 4}};
  std::string text;
  for (const DiffSetting& s : compare_records(run_of({}, 1), other).settings)
    text += fmt::format("{} {} {}; ", s.what, s.before, s.after);
  EXPECT_EQ(text, "model toy big; batch 64 128; precision fp32 bf16; device a CPU a GPU; ranks 1 4; ");
}

Sheet bench_sheet(const std::vector<std::pair<std::string, double>>& rows) {
  Sheet sheet("nets", {{.key = "name", .title = "workload"},
                       {.key = "batch", .title = "batch"},
                       {.key = "kernel", .title = "kernel"},
                       {.key = "gflop", .title = "GFLOP", .unit = "GFLOP"},
                       {.key = "step_us", .title = "step us", .unit = "us"},
                       {.key = "gflops_per_s", .title = "GFLOP/s", .unit = "GFLOP/s"}});
  for (const auto& [name, us] : rows)
    sheet.row({name, std::int64_t{8}, fmt::format("kernel of {}", us), 1.5 * us, us, 1 / us});
  return sheet;
}

TEST(Diff, BenchmarksAreComparedByRowAndColumn) {
  const auto cells = compare_tables({bench_sheet({{"a", 100}, {"b", 10}, {"c", 1}, {"b", 7}})},
                                    {bench_sheet({{"b", 12}, {"a", 105}, {"d", 2}, {"b", 5}})});
  EXPECT_EQ(cells.size(), 5u);
  EXPECT_EQ(named(cells, "a, batch 8", "step_us").change, Change::unsure) << "no samples: 5 % may be noise";
  EXPECT_EQ(named(cells, "b, batch 8", "step_us").change, Change::slower);
  EXPECT_NEAR(named(cells, "b, batch 8", "step_us").before.spread.median, 10e-6, 1e-15);
  EXPECT_EQ(named(cells, "b, batch 8 (2)", "step_us").change, Change::faster);
  EXPECT_EQ(named(cells, "c, batch 8", "step_us").change, Change::gone);
  EXPECT_EQ(named(cells, "d, batch 8", "step_us").change, Change::added);
}

TEST(Diff, PredictionsAndBoundsAreNoMeasurements) {
  const auto sheet = [](double ms, double others) {
    std::vector<Column> columns = {{.key = "name", .title = "network"}};
    std::vector<Cell> cells = {std::string("a")};
    for (const char* key : {"forward_ms", "forward_min_ms", "forward_predicted_ms", "low_ms", "step_high_ms",
                            "floor_ms", "published_add_ms", "us_p10", "add_p90_ms"}) {
      columns.push_back({.key = key, .title = key, .unit = "ms"});
      cells.emplace_back(cells.size() == 1 ? ms : others);
    }
    Sheet one("forward", columns);
    one.row(cells);
    return one;
  };
  const auto cells = compare_tables({sheet(1, 1)}, {sheet(2, 9)});
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].what, "forward_ms");
  EXPECT_EQ(cells[0].change, Change::slower);
}

TEST(Diff, BenchmarksOfOtherProductsSaySo) {
  const auto settings = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    RunRecord before{.verb = "bench gemm", .command = a}, after{.verb = "bench gemm", .command = b};
    std::string text;
    for (const DiffSetting& s : differing_settings(before, after))
      text += fmt::format("{} {} {};", s.what, s.before, s.after);
    return text;
  };
  EXPECT_EQ(settings({"headroom", "bench", "gemm"}, {"headroom", "bench", "gemm", "--precision", "fp32"}),
            "");
  EXPECT_EQ(settings({"--precision=fp64"}, {"--alpha", "2", "--beta=3"}),
            "precision fp64 fp32;alpha 1 2;beta 0 3;");
  EXPECT_EQ(settings({"--workload", "course"}, {"--alpha", "2"}), "workload course none;");
}

TEST(Diff, NothingInCommonIsRejected) {
  RecordedRun bench{"bench.json", {}};
  bench.record.tables = {bench_sheet({{"a", 1}})};
  RecordedRun renamed{"other.json", {}};
  renamed.record.tables = {Sheet("other", bench.record.tables[0].columns())};
  EXPECT_THROW(compare_records(bench, run_of({}, 1)), Error);
  EXPECT_THROW(compare_records(run_of({}, 1), bench), Error);
  EXPECT_THROW(compare_records(bench, renamed), Error);
  EXPECT_NO_THROW(compare_records(bench, bench));
}

TEST(Diff, TablesHaveEveryRow) {
  const RecordDiff diff = compare_records(run_of({{"a", "f", "x", 1}}, 2), run_of({{"a", "f", "x", 2}}, 3));
  const std::string text = layer_diff_sheet(diff).text();
  for (const char* part : {"before ms", "a  ", "training step", "100.0", "50.0", "slower"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const Json json = to_json(diff);
  EXPECT_EQ(json["whole"]["verdict"], "slower");
  EXPECT_EQ(json["layers"][0]["layer"], "a");
  EXPECT_EQ(json["steps"][0]["kernel"], "x");
  EXPECT_LE(json["whole"]["before_low_ms"], json["whole"]["before_ms"]);
  EXPECT_GE(json["whole"]["before_high_ms"], json["whole"]["before_ms"]);
}

TEST(Diff, ManyRunsAreComparedWithTheFirst) {
  const Sheet sheet = runs_sheet({run_of({}, 2), run_of({}, 2), run_of({}, 3)});
  EXPECT_EQ(sheet.rows(), 3u);
  EXPECT_EQ(sheet.at(0, "percent"), Cell());
  EXPECT_EQ(sheet.at(1, "verdict"), Cell(std::string("same")));
  EXPECT_EQ(sheet.at(2, "verdict"), Cell(std::string("slower")));
  EXPECT_NEAR(std::get<double>(sheet.at(2, "percent")), 50, 1e-9);
  EXPECT_NEAR(std::get<double>(sheet.at(2, "items_per_s")), 64 / 3e-3, 64 / 3e-3 * 1e-3);
  EXPECT_THROW(runs_sheet({run_of({}, 2), run_of({}, 0), run_of({}, 2)}), Error);
}

}  // namespace
}  // namespace headroom
