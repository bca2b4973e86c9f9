#include "timing/timing_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "timing/table_calibration.h"
#include "timing/table_prediction.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TimingTable, ReadsColumnsInAnyOrderAndKeepsOthers) {
  const TimingTable t = parse_timing_table(
      "us,k,remark,m,n,device\r\n1.5,64,\"a, \"\"b\"\"\",8,16,h200\r\n\r\n2,1,,2,3,v100\n", "t");
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.rows[0][t.need("remark")], "a, \"b\"");
  EXPECT_EQ(t.lines, (std::vector<std::size_t>{2, 4}));
  const std::vector<TimingRow> rows = rows_of(t, form_of(t), true);
  EXPECT_EQ(rows[0].sizes, (std::vector<double>{8, 16, 64}));
  EXPECT_EQ(rows[1].device, "v100");
  EXPECT_EQ(rows[0].us, 1.5);
}

TEST(TimingTable, LinesMayEndInACarriageReturnAlone) {
  const TimingTable t = parse_timing_table("m,n,remark\r1,2,\"a\rb\"\r\r3,4,x\r", "t");
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.columns.back(), "remark");
  EXPECT_EQ(t.rows[0][2], "a\rb");
  EXPECT_EQ(t.rows[1][0], "3");
  EXPECT_EQ(t.lines, (std::vector<std::size_t>{2, 5}));
}

TEST(TimingTable, WritesWhatItReadWithFurtherColumns) {
  const TimingTable t = parse_timing_table("a,low_us\n\"x,y\",7\n", "t");
  EXPECT_EQ(to_csv(t, {{"low_us", {"3"}}, {"new", {"q\"r"}}}), "a,low_us,new\n\"x,y\",3,\"q\"\"r\"\n");
}

TEST(TimingTable, NamesTheLineOfWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return message_of([&] {
      const TimingTable t = parse_timing_table(text, "t.csv");
      rows_of(t, form_of(t), true);
    });
  };
  EXPECT_EQ(error(""), "t.csv is empty");
  EXPECT_EQ(error("m,n,k,us\n"), "t.csv has no rows below its header");
  EXPECT_EQ(error("m,n,k,us\n1,2,3\n"), "t.csv, line 2: 3 cells for 4 columns");
  EXPECT_EQ(error("m,n,m,us\n1,2,3,4\n"), "t.csv: two columns are called 'm'");
  EXPECT_EQ(error("m,n,k,us\n1,2,3,4\n1,2,3,0\n"), "t.csv, line 3: the time '0' is not a number above 0");
  EXPECT_EQ(error("m,n,k,us\n1,2,3,nan\n"), "t.csv, line 2: the time 'nan' is not a number above 0");
  EXPECT_EQ(error("m,n,k,us\n0,2,3,4\n"), "t.csv, line 2: column 'm' is 0; a size is at least 1");
  EXPECT_EQ(error("m,n,k\n1,2,3\n"), "t.csv: there is no column 'us'");
  EXPECT_EQ(error("a,b\n1,2\n"), "t.csv: no formula fits its columns");
  EXPECT_EQ(error("m,n,k,us,dtype\n1,2,3,4,fp7\n"),
            "t.csv, line 2: the formula for gemm does not know dtype 'fp7'");
  EXPECT_EQ(error("m,n,k,us\n1,2.5,3,4\n"), "t.csv, line 2: 'n' is 2.5; it must be a whole number");
  EXPECT_EQ(error("batch,m,n,k,us\n1.5,2,3,4,5\n"),
            "t.csv, line 2: 'batch' is 1.5; it must be a whole number");
  EXPECT_EQ(error("op,gpus,bytes,us\nalltoall,2,0.5,5\n"),
            "t.csv, line 2: column 'bytes' is 0.5; a size is at least 1");
  EXPECT_EQ(error("op,gpus,bytes,us\nalltoall,2,8.5,5\n"),
            "t.csv, line 2: 'bytes' is 8.5; it must be a whole number");
  const std::string conv = "batch,cin,cout,kernel,size,pad,stride,us\n";
  EXPECT_EQ(error(conv + "1,8,8,3,9,0,1,5\n"), "no error");
  EXPECT_EQ(error(conv + "1,8,8,3,9,-1,1,5\n"), "t.csv, line 2: column 'pad' is -1; a size is at least 0");
  EXPECT_EQ(error(conv + "1,8,8,3,9,0.5,1,5\n"), "t.csv, line 2: 'pad' is 0.5; it must be a whole number");
  EXPECT_EQ(error(conv + "1,8,8,3,9,1,0,5\n"), "t.csv, line 2: column 'stride' is 0; a size is at least 1");
  EXPECT_EQ(error("m,n,k,us\n2e15,2,3,4\n"), "t.csv, line 2: column 'm' is 2e15; a size is at most 1e+15");
  EXPECT_EQ(error("m,n,k,us\n1,2,\"3\"4,4\n"),
            "t.csv, line 2: text follows a quoted cell; a comma is missing");
  EXPECT_EQ(error("m,n,k,us\n1,2,\"3\n"), "t.csv, line 2: a quote is not closed");
}

TEST(TimingTable, TakesTheGroupOfTheUserWhereRowsNameNone) {
  const TimingTable plain = parse_timing_table("m,n,k\n1,2,3\n", "t.csv");
  const TimingTable named = parse_timing_table("m,n,k,dtype\n1,2,3,fp8\n4,5,6,bf16\n", "t.csv");
  const KernelForm& gemm = find_form("gemm");
  EXPECT_EQ(rows_of(plain, gemm, false).front().group, "bf16");
  EXPECT_EQ(rows_of(plain, gemm, false, "fp8").front().group, "fp8");
  EXPECT_EQ(message_of([&] { rows_of(plain, gemm, false, "fp64"); }),
            "the formula for gemm does not know `precision` 'fp64'");
  EXPECT_EQ(message_of([&] { rows_of(named, gemm, false, "fp8"); }),
            "t.csv, line 3: `precision` is fp8, but column 'dtype' is bf16");
}

// A table of products on an H200, with times of the formula; `scale` may put them into another unit.
std::string gemm_table(std::size_t shapes, double scale, const std::string& dtype = "bf16",
                       std::size_t repeats = 1) {
  const KernelForm& form = find_form("gemm");
  const Machine h200 = find_machine("h200");
  const std::vector<double> constants = starting_values(form.constants(dtype));
  const Philox random(6);
  std::string csv;
  for (std::size_t i = 0; i < shapes * repeats; ++i) {
    TimingRow row{.group = dtype};
    for (std::size_t s = 0; s < 3; ++s)
      row.sizes.push_back(std::round(std::exp2(9 + 4 * random.uniform(3 * (i % shapes) + s))));
    const double us = scale * 1.2e6 * fastest(*form.prepare(row, h200, {}), constants).seconds;
    csv += fmt::format("h200,{},{},{:.6g}\n", dtype, fmt::join(row.sizes, ","), us);
  }
  return csv;
}
TableCalibration calibrated(const std::string& rows, const Holdout& holdout = {}) {
  return calibrate_table(parse_timing_table("device,dtype,m,n,k,us\n" + rows, "t.csv"), "h200", holdout);
}

TEST(TableCalibration, RejectsTimesBelowTheFloor) {
  EXPECT_TRUE(calibrated(gemm_table(40, 1)).notes.empty());
  EXPECT_EQ(message_of([] { calibrated(gemm_table(40, 1e-3)); }),
            "t.csv: 40 of 40 rows of bf16 are faster than the peaks of machine 'h200' allow");
  try {
    calibrated(gemm_table(40, 1e-3));
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "is 'us' in microseconds?");
  }
}

TEST(TableCalibration, NotesTimesThatLookLikeAnotherUnit) {
  const TableCalibration some = calibrated(gemm_table(40, 1) + gemm_table(3, 1e-3));
  ASSERT_EQ(some.notes.size(), 1u);
  EXPECT_EQ(some.notes[0],
            "3 rows of bf16 took less than 90 % of the least time that the peaks of 'h200' allow, first in "
            "line 42; is 'us' in microseconds?");
  const TableCalibration slow = calibrated(gemm_table(40, 1e3));
  ASSERT_EQ(slow.notes.size(), 1u);
  EXPECT_TRUE(slow.notes[0].starts_with("bf16 on 'h200': the median time is 1")) << slow.notes[0];
  EXPECT_TRUE(slow.notes[0].ends_with("is 'us' in microseconds?")) << slow.notes[0];
}

TEST(TableCalibration, CountsShapesNotRows) {
  const TableCalibration c = calibrated(gemm_table(20, 1) + gemm_table(4, 1, "fp8", 5));
  ASSERT_EQ(c.parts.size(), 1u);
  EXPECT_EQ(c.notes, std::vector<std::string>{"20 rows of fp8 with 4 different shapes: too few to fit"});
  EXPECT_EQ(calibrated(gemm_table(20, 1) + gemm_table(4, 1, "fp8")).notes,
            std::vector<std::string>{"4 rows of fp8: too few to fit"});
  const TableCalibration split = calibrated(gemm_table(30, 1, "bf16", 3), {.rows = 60, .seed = 2});
  EXPECT_EQ(split.parts[0].fitted, 60u);
  EXPECT_EQ(split.parts[0].errors.rows, 30u) << "no shape is in both parts";
}

TEST(TableCalibration, NamesTheLineOfARowThatTheMachineCannotRun) {
  EXPECT_TRUE(message_of([] {
                calibrate_table(parse_timing_table("m,n,k,us\n8,8,8,3\n", "t.csv"), "p100", {});
              }).starts_with("t.csv, line 2: machine 'p100-pcie' has no bf16 peak"));
}

TEST(TablePrediction, NotesRowsOfOtherDevices) {
  const auto notes = [](const std::string& text, const std::string& machine) {
    return predict_table(parse_timing_table(text, "t.csv"), find_form("gemm"), {.machine = machine}).notes;
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes("m,n,k\n64,64,64\n", "h200"), Notes{});
  EXPECT_EQ(notes("device,m,n,k\na100-80gb,64,64,64\na100-sxm,64,64,64\n", "a100"), Notes{}) << "aliases";
  EXPECT_EQ(notes("device,m,n,k\na100,64,64,64\nmine,64,64,64\nh200,8,8,8\n", "h200"),
            Notes{"rows of 'a100', 'mine' are predicted for 'h200'"});
  EXPECT_EQ(
      notes("device,m,n,k,us\na100,64,64,64,5\n", "h200"),
      Notes{"rows of 'a100' are predicted for 'h200', but their times were measured on the devices that "
            "the rows name"});
}

TEST(TablePrediction, NamesTheLineOfARowThatTheMachineCannotRun) {
  const auto predict = [](const std::string& text, const std::string& machine) {
    return message_of(
        [&] { predict_table(parse_timing_table(text, "t.csv"), find_form("gemm"), {.machine = machine}); });
  };
  EXPECT_EQ(predict("device,m,n,k\nh200,64,64,64\nk80,64,64,64\n", ""),
            "t.csv, line 3: machine 'k80' has no bf16 peak");
  EXPECT_EQ(predict("m,n,k\n64,64,64\n", "k80"), "t.csv, line 2: machine 'k80' has no bf16 peak");
}

}  // namespace
}  // namespace headroom
