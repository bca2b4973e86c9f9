// Fits to public tables of timings, judged on rows that were not fitted. The whole set of goals takes
// minutes: scripts/truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "timing/table_calibration.h"
#include "timing/table_prediction.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

fs::path timings() {
  const char* named = std::getenv("HEADROOM_DATA");
  return (named != nullptr ? fs::path(named) : fs::path(HEADROOM_SOURCE_DIR) / "../shared/data") / "timings";
}

class PublicTables : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(timings() / "gemm.csv.gz")) GTEST_SKIP() << "no tables of timings in " << timings();
  }
};

TEST_F(PublicTables, NoMeasurementIsBelowItsFloor) {
  for (const char* file : {"gemm.csv.gz", "linear_fp32.csv.gz"}) {
    const TimingTable table = read_timing_table(timings() / file);
    const KernelForm& form = form_of(table);
    std::map<std::string, Machine> machines;
    for (const TimingRow& row : rows_of(table, form, true)) {
      if (!machines.contains(row.device)) machines[row.device] = machine_of_device(table, row);
      const double floor_us = form.prepare(row, machines[row.device], {})->floor() * 1e6;
      EXPECT_GE(row.us, floor_us) << file << ", line " << row.line;
    }
  }
}

TEST_F(PublicTables, ThreeHundredRowsOfAnH200TellItsOthers) {
  const TimingTable table = read_timing_table(timings() / "gemm.csv.gz");
  const TableCalibration fitted = calibrate_table(table, "h200", {.rows = 300, .seed = 11});
  ASSERT_EQ(fitted.parts.size(), 2u);
  const JudgedErrors& bf16 = fitted.parts[0].errors;
  EXPECT_EQ(bf16.rows, 700u);
  EXPECT_LE(bf16.mean, 6.5);
  EXPECT_LE(bf16.median, 4.8);
  EXPECT_GE(bf16.coverage, 85);
  EXPECT_LE(bf16.coverage, 95);
}

// The names of kernels tell the tiles of a library; without them the times have to.
TEST_F(PublicTables, LinearLayersNeedNoKernelNames) {
  TimingTable table = read_timing_table(timings() / "linear_fp32.csv.gz");
  const std::size_t name = table.need("kernel_name");
  for (auto& row : table.rows) row[name].clear();
  const TableCalibration fitted = calibrate_table(table, "p100-pcie", {.rows = 300, .seed = 5});
  EXPECT_EQ(fitted.calibration.forms.at(0).members.at(0).traits.at("batched_tiles"),
            std::vector<std::string>{"128x64"});
  EXPECT_LE(fitted.parts[0].errors.mean, 9.5);
}

TEST_F(PublicTables, ADeviceThatWasNeverMeasuredIsPredictedByTheOthers) {
  const TimingTable table = read_timing_table(timings() / "gemm.csv.gz");
  const TableCalibration fitted = calibrate_table_shared(table, {.left_out = "h100-sxm"});
  EXPECT_EQ(fitted.parts[0].judged_on, "h100-sxm");
  EXPECT_LE(fitted.parts[0].errors.mean, 14.5);
  EXPECT_GE(fitted.parts[0].errors.coverage, 80);
}

TEST_F(PublicTables, LinearLayersOfADeviceLeftOut) {
  const TimingTable table = read_timing_table(timings() / "linear_fp32.csv.gz");
  double mean = 0;
  for (const char* device : {"a100-pcie-40", "v100-pcie", "t4", "p4", "p100-pcie"}) {
    const JudgedErrors errors = calibrate_table_shared(table, {.left_out = device}).parts.at(0).errors;
    EXPECT_LE(errors.mean, 20) << device;
    EXPECT_GE(errors.coverage, 80) << device;
    mean += errors.mean / 5;
  }
  EXPECT_LE(mean, 15);
}

// The constants that are built in are those that the verb makes from the tables, up to rounding by compilers.
TEST_F(PublicTables, BuiltInConstantsAreThoseOfTheTables) {
  for (const char* file : {"gemm.csv.gz", "linear_fp32.csv.gz"}) {
    const TimingTable table = read_timing_table(timings() / file);
    const KernelForm& form = form_of(table);
    for (const TimingRow& row : rows_of(table, form, true)) {
      const FormCalibration* built_in = shared_calibration().find(form.name(), row.group);
      ASSERT_NE(built_in, nullptr) << form.name() << " " << row.group;
      const std::string name = machine_of_device(table, row).name;
      EXPECT_TRUE(std::ranges::any_of(built_in->members, [&](const auto& m) { return m.device == name; }))
          << name << " is missing: make the file again with `headroom calibrate`";
      if (row.line > 60) break;
    }
  }
}

}  // namespace
}  // namespace headroom
