#include "report/work_sheet.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "report/ladder_sheet.h"
#include "report/work_columns.h"

namespace headroom {
namespace {

constexpr double kMega = 1e6;

// A product of 64 x 100 x 32 in tiles of 64 x 64, and what a GPU counts if all of it is right.
Work tiled_work() {
  return {{{.flops = 2.0 * 64 * 100 * 32 * 1000,
            .bytes = 3 * kMega,
            .l2_bytes = 5 * kMega,
            .extent = {64, 100, 32},
            .tile = {64, 64, 0}}}};
}

CountedWork counted_as(double flops, double l2, double dram) {
  CountedWork counted;
  for (const std::string& name : operation_counters()) counted.counters["1:" + name] = 0;
  counted.counters["1:tensor-tf32"] = flops;
  counted.counters["2:l2-sectors"] = l2 / 32;
  counted.counters["2:dram-read"] = dram, counted.counters["2:dram-write"] = 0;
  return counted;
}

const double kExecuted = executed_flops(tiled_work());

WorkRow row_of(const CountedWork& counted, const Shape& shape = {1000}) {
  return {.problem = {.op = "gemm", .inputs = {{shape, DType::f32}}, .outputs = {}, .attrs = {}},
          .kernel = "cuda:tiles",
          .precision = "tf32",
          .cost = {.multiply_add = tiled_work().flops()},
          .work = tiled_work(),
          .counted = counted};
}

TEST(WorkSheet, FindsWhatIsOff) {
  const WorkTolerance tolerance{.l2_capacity = 100};
  const auto judged = [&](double flops, double l2, double dram) {
    const WorkVerdict v = judge(row_of(counted_as(flops * kExecuted, l2 * kMega, dram * kMega)), tolerance);
    return fmt::format("{}{}{}", v.flops ? "F" : "", v.l2 ? "L" : "", v.dram ? "D" : "");
  };
  EXPECT_EQ(judged(1.019, 5.24, 2.86), "");
  EXPECT_EQ(judged(3, 5, 3), "F") << "three products of parts for one";
  EXPECT_EQ(judged(0.97, 5, 3), "F");
  EXPECT_EQ(judged(1, 5.26, 3), "L");
  EXPECT_EQ(judged(1, 5, 3.2), "D");
}

TEST(WorkSheet, JudgesOnlyWhatCountersCanTell) {
  WorkRow row = row_of(counted_as(0, 0, 0));
  EXPECT_TRUE(judge(row, {.l2_capacity = 100}).dram);
  EXPECT_FALSE(judge(row, {.l2_capacity = 1001}).dram) << "4000 bytes may stay in the cache";
  EXPECT_FALSE(judge(row, {}).dram) << "a cache of unknown size";
  row.cost = {.multiply_add = 1, .special = 1};
  EXPECT_FALSE(judge(row, {}).flops) << "half of it is no product";
  row.work.main().bytes = row.work.main().l2_bytes = 0.9 * kMega;
  EXPECT_FALSE(judge(row, {}).l2);
  EXPECT_FALSE(judge(row_of({}), {.l2_capacity = 100}).any()) << "nothing was counted";
}

TEST(WorkSheet, ListsKernelsThatAreOff) {
  WorkCheck check;
  check.rows = {row_of(counted_as(kExecuted, 5 * kMega, 0)),
                row_of(counted_as(3 * kExecuted, 10 * kMega, 0))};
  check.left_out = {"gemm by cuda:outer in fp64: too large"};
  EXPECT_EQ(kernels_off(check), 1u);
  const Sheet off = work_sheet(check, WorkRows::off);
  ASSERT_EQ(off.rows(), 1u);
  EXPECT_EQ(std::get<std::string>(off.at(0, "off")), "FLOP L2");
  EXPECT_DOUBLE_EQ(std::get<double>(off.at(0, "flops_over_work")), 3);
  EXPECT_DOUBLE_EQ(std::get<double>(off.at(0, "l2_over_work")), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(off.at(0, "work_gflop")), 1e-9 * kExecuted);
  EXPECT_EQ(work_sheet(check, WorkRows::all).rows(), 2u);
  const std::string notes = work_notes(check);
  EXPECT_NE(notes.find("1 of 2 rows are off"), std::string::npos) << notes;
  EXPECT_NE(notes.find("Left out: gemm by cuda:outer"), std::string::npos) << notes;
  const Json json = work_check_json(check);
  EXPECT_EQ(json.at("kernels")[1].at("off"), Json({"FLOP", "L2"}));
  EXPECT_EQ(json.at("kernels")[0].at("off"), Json::array());
  EXPECT_EQ(json.at("kernels")[1].at("counted").at("flops").at("ratio"), 3.0);
}

LadderRun counted_ladder() {
  LadderRun run;
  run.problem.name = "64 x 100 x 32";
  for (const char* name : {"cuda:loops", "cuda:tiles"}) {
    RungResult rung{.rung = {.name = name, .title = "an idea", .kernel = name}};
    rung.outcome = RungResult::Outcome::timed;
    rung.seconds.samples = 5, rung.seconds.median = 1e-3;
    rung.work = tiled_work();
    run.rungs.push_back(std::move(rung));
  }
  run.rungs[1].counted = counted_as(2 * kExecuted, 5 * kMega, 6 * kMega);
  run.counter_notes = {"counted in 8 successive steps: pass 1: …"};
  return run;
}

TEST(LadderSheet, ARungHasCountedWorkBesideItsOwn) {
  const LadderRun run = counted_ladder();
  const Sheet sheet = ladder_sheet(run, DeviceKind::cuda);
  EXPECT_EQ(std::get<std::string>(sheet.at(1, "rung")), "cuda:tiles");
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(1, "counted_gflop")), 2e-9 * kExecuted);
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(1, "flops_over_work")), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(1, "l2_over_work")), 1);
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.at(1, "dram_over_work")), 2);
  EXPECT_EQ(sheet.at(0, "counted_gflop"), Cell()) << "this one was not counted";
  const Json json = ladder_json(run);
  EXPECT_FALSE(json.at("rungs")[0].contains("counted"));
  EXPECT_EQ(json.at("rungs")[1].at("counted").at("dram_bytes").at("counted"), 6 * kMega);
  EXPECT_EQ(json.at("rungs")[1].at("counted").at("counters").at("1:tensor-tf32"), 2 * kExecuted);
  EXPECT_EQ(json.at("counter_notes").size(), 1u);
  const std::string notes = ladder_notes(run);
  EXPECT_NE(notes.find("Counters: counted in 8 successive steps"), std::string::npos) << notes;
  EXPECT_NE(notes.find("two for a multiply-add"), std::string::npos) << notes;
  const Sheet counters = ladder_counters_sheet(run);
  ASSERT_EQ(counters.rows(), 1u) << "rungs do not add up";
  EXPECT_DOUBLE_EQ(std::get<double>(counters.at(0, "l2_sm_mb")), 5);
}

TEST(LadderSheet, WithoutCountersNoColumnsOfThem) {
  LadderRun run = counted_ladder();
  run.rungs[1].counted.reset(), run.counter_notes = {"no counters: this user may not count"};
  EXPECT_FALSE(ladder_sheet(run, DeviceKind::cuda).has_column("counted_gflop"));
  EXPECT_EQ(ladder_counters_sheet(run).rows(), 0u);
  const std::string notes = ladder_notes(run);
  EXPECT_NE(notes.find("Counters: no counters: this user"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("multiply-add"), std::string::npos) << notes;
}

}  // namespace
}  // namespace headroom
