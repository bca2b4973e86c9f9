// headroom calibrate --table and headroom predict KERNEL --table.
#include <chrono>
#include <cmath>

#include "base/json.h"
#include "base/random.h"
#include "support/program.h"
#include "timing/timing_table.h"

namespace headroom::testing {
namespace {

class CliKernelTimes : public ProgramTest {
 protected:
  // Sizes of products without times.
  static std::string sizes(std::size_t count, const std::string& device) {
    std::string csv = "k,device,remark,dtype,m,n\n";
    const Philox random(3);
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = [&](std::size_t s) {
        return std::llround(std::exp2(4 + 9 * random.uniform(3 * i + s)));
      };
      csv += fmt::format("{},{},\"row, {}\",bf16,{},{}\n", size(0), device, i, size(1), size(2));
    }
    return csv;
  }

  // A table with times: those that the program predicts, with a little noise and a bend.
  void put_timings(const std::string& name, std::size_t count, const std::string& device) const {
    put("sizes.csv", sizes(count, device));
    succeed({"predict", "gemm", "--table", "sizes.csv", "-o", "predicted.csv"});
    const TimingTable t = read_timing_table(file("predicted.csv"));
    const std::size_t predicted = t.need("predicted_us"), m = t.need("m");
    AddedColumn us{"us", {}};
    for (std::size_t r = 0; r < t.rows.size(); ++r) {
      const double bend = 0.1 * std::sin(std::log2(std::stod(t.rows[r][m])));
      const double noise = 0.02 * Philox(4).normal(r);
      us.cells.push_back(fmt::format("{}", std::stod(t.rows[r][predicted]) * std::exp(bend + noise)));
    }
    put(name, to_csv(t, {us}));
  }
};

TEST_F(CliKernelTimes, PredictKeepsTheColumnsAndAddsThree) {
  put("in.csv", sizes(5, "h200"));
  const Outcome outcome = succeed({"predict", "gemm", "--table", "in.csv", "-o", "out.csv"});
  EXPECT_NE(outcome.out.find("5 rows written to out.csv"), std::string::npos) << outcome.out;
  const TimingTable t = read_timing_table(file("out.csv"));
  EXPECT_EQ(t.columns,
            (Words{"k", "device", "remark", "dtype", "m", "n", "predicted_us", "low_us", "high_us"}));
  EXPECT_EQ(t.rows[3][t.need("remark")], "row, 3");
  for (const auto& row : t.rows) {
    const double us = std::stod(row[6]), low = std::stod(row[7]), high = std::stod(row[8]);
    EXPECT_GT(low, 0);
    EXPECT_LE(low, us);
    EXPECT_GE(high, us);
  }
  EXPECT_EQ(succeed({"predict", "gemm", "--table", "in.csv"}).out, read_file(file("out.csv")));
  const TimingTable explained = parse_timing_table(
      succeed({"predict", "gemm", "--table", "in.csv", "--explain", "--machine", "a100"}).out, "out");
  EXPECT_TRUE(explained.rows[0][explained.need("choice")].starts_with("tile "));
}

TEST_F(CliKernelTimes, ACalibrationKnowsItsDeviceBetterThanSharedConstants) {
  put_timings("rows.csv", 240, "h200");
  const Json fitted = succeed_json(
      {"calibrate", "--table", "rows.csv", "--machine", "h200", "--rows", "160", "-o", "mine.json"});
  EXPECT_EQ(fitted.at("machine"), "h200");
  const Json& part = fitted.at("parts").at(0);
  EXPECT_EQ(part.at("rows"), 160);
  EXPECT_EQ(part.at("judged_on"), "80 rows not fitted");
  EXPECT_LT(part.at("mean_percent").get<double>(), 4);
  EXPECT_GT(part.at("coverage_percent").get<double>(), 75);

  const auto error = [&](const Words& more) {
    return succeed_json(with({"predict", "gemm", "--table", "rows.csv"}, more)).at("parts").at(0);
  };
  const Json mine = error({"--machine", "mine.json"}), shared = error({"--machine", "h200"});
  EXPECT_EQ(mine.at("basis"), "calibrated");
  EXPECT_EQ(shared.at("basis"), "shared");
  EXPECT_LT(mine.at("mean_percent").get<double>(), shared.at("mean_percent").get<double>() / 2);
  EXPECT_EQ(error({"--constants", "mine.json"}), mine) << "each row names its device";
}

TEST_F(CliKernelTimes, RowsThatWereFittedAreSaidToBeNoTest) {
  put_timings("rows.csv", 60, "h200");
  succeed({"calibrate", "--table", "rows.csv", "--machine", "h200", "--rows", "40", "-o", "mine.json"});
  const auto said = [&](const Words& more) {
    return succeed(with({"predict", "gemm", "--table", "rows.csv", "--machine"}, more)).err;
  };
  const std::string note =
      "mine.json was fitted to the shapes of 40 of the 60 rows with times in bf16: the errors of those are "
      "no test of it";
  EXPECT_NE(said({"mine.json"}).find(note), std::string::npos) << said({"mine.json"});
  EXPECT_EQ(said({"h200"}).find("was fitted to"), std::string::npos);
  Json file_json = Json::parse(read_file(file("mine.json")));
  file_json.at("kernel_times").at(0).erase("fitted_shapes");  // of an older program
  put("mine.json", file_json.dump());
  EXPECT_EQ(said({"mine.json"}).find("was fitted to"), std::string::npos);
  file_json.at("kernel_times").at(0)["fitted_shapes"] = "12ab xyz";
  put("mine.json", file_json.dump());
  expect_refused({"predict", "gemm", "--table", "rows.csv", "--machine", "mine.json"},
                 {"mine.json", "'fitted_shapes' is damaged", "headroom calibrate"});
}

// What a formula leaves over is saved beside its constants: of convolutions, too.
TEST_F(CliKernelTimes, ACalibrationOfConvolutionsPredictsThem) {
  std::string csv = "batch,cin,cout,kernel,size,us\n";
  const Philox random(5);
  for (std::size_t i = 0; i < 60; ++i) {
    const auto draw = [&](std::size_t s, double least, double octaves) {
      return std::llround(std::exp2(least + octaves * random.uniform(5 * i + s)));
    };
    const auto batch = draw(0, 0, 5), cin = draw(1, 4, 4), cout = draw(2, 4, 4), size = draw(3, 3, 4);
    const double us =
        20 + 2e-7 * double(batch * cin * cout * size * size) * 9 * std::exp(0.3 * std::sin(double(cin)));
    csv += fmt::format("{},{},{},3,{},{}\n", batch, cin, cout, size, us);
  }
  put("rows.csv", csv);
  succeed({"calibrate", "--table", "rows.csv", "--machine", "v100-pcie", "-o", "mine.json"});
  ASSERT_NE(read_file(file("mine.json")).find("\"residual\""), std::string::npos);
  const Words words = {"predict", "conv2d", "--table", "rows.csv"};
  EXPECT_EQ(succeed_json(with(words, {"--machine", "mine.json"})).at("rows").size(), 60u);
  succeed(with(words, {"--machine", "v100-pcie", "--constants", "mine.json"}));
}

TEST_F(CliKernelTimes, PrecisionIsThatOfFittedRowsToo) {
  put_timings("typed.csv", 60, "h200");
  const TimingTable t = read_timing_table(file("typed.csv"));
  const std::size_t dtype = t.need("dtype"), k = t.need("k"), m = t.need("m"), n = t.need("n"),
                    us = t.need("us");
  std::string csv = "k,m,n,us\n", named = "k,m,n,us,dtype\n";
  for (const auto& row : t.rows) {
    csv += fmt::format("{},{},{},{}\n", row[k], row[m], row[n], row[us]);
    named += fmt::format("{},{},{},{},{}\n", row[k], row[m], row[n], row[us], row[dtype]);
  }
  put("plain.csv", csv), put("named.csv", named);
  const auto group = [&](const Words& more) {
    return succeed_json(with({"calibrate", "--machine", "h200", "--table"}, more))
        .at("parts")
        .at(0)
        .at("group");
  };
  EXPECT_EQ(group({"plain.csv", "--precision", "fp8"}), "fp8");
  EXPECT_EQ(group({"named.csv"}), "bf16");
  EXPECT_NE(succeed({"calibrate", "--machine", "h200", "--table", "plain.csv"}).err.find("bf16 assumed"),
            std::string::npos);
  expect_refused({"calibrate", "--machine", "h200", "--table", "named.csv", "--precision", "fp8"},
                 {"'dtype' is bf16"});
  expect_refused({"calibrate", "--machine", "h200", "--table", "named.csv", "--seconds", "5"},
                 {"--seconds", "leave it out"});
}

TEST_F(CliKernelTimes, NoOutputTakesThePlaceOfAnInput) {
  put_timings("rows.csv", 60, "h200");
  const Words fit = {"calibrate", "--table", "rows.csv", "--machine", "h200"};
  expect_refused(with(fit, {"-o", "rows.csv"}), {"--table and --output name the same file"});
  expect_refused(with(fit, {"--record", "rows.csv"}), {"--table and --record name the same file"});
  succeed(with(fit, {"-o", "mine.json"}));
  const Words predict = {"predict", "gemm", "--table", "rows.csv", "-o", "mine.json"};
  expect_refused(with(predict, {"--machine", "mine.json"}), {"--machine and --output name the same file"});
  expect_refused(with(predict, {"--machine", "h200", "--constants", "mine.json"}),
                 {"--constants and --output"});
  expect_refused(with(fit, {"-o", "new.json", "--width", "5"}), {"--width is 5"});
  expect_refused({"predict", "gemm", "--table", "rows.csv", "-o", "new.csv", "--width", "5"},
                 {"--width is 5"});
}

TEST_F(CliKernelTimes, ExplanationsTakeNoColumnOfTheUsers) {
  put("rows.csv", "m,n,k,bound\n512,512,512,upper\n");
  const Words words = {"predict", "gemm", "--table", "rows.csv", "--machine", "h200", "--explain"};
  expect_refused(words, {"has a column 'bound'", "rename it"});
  put("rows.csv", "m,n,k\n512,512,512\n");
  succeed(with(words, {"-o", "rows.csv"}));
  succeed(words);  // made anew
}

TEST_F(CliKernelTimes, ACalibrationOfAnotherMachineIsSaidAndWidened) {
  put_timings("rows.csv", 120, "h200");
  succeed({"calibrate", "--table", "rows.csv", "--machine", "h200", "-o", "mine.json"});
  const Json own = succeed_json({"predict", "gemm", "--table", "rows.csv", "--machine", "mine.json"});
  const Words words = {"predict",   "gemm", "--table",     "rows.csv",
                       "--machine", "h100", "--constants", "mine.json"};
  const Json other = succeed_json(words);
  EXPECT_NE(succeed(words).err.find("mine.json is a calibration of 'h200', not of 'h100-sxm'"),
            std::string::npos);
  EXPECT_GT(other.at("parts").at(0).at("median_width_percent").get<double>(),
            2 * own.at("parts").at(0).at("median_width_percent").get<double>());
}

TEST_F(CliKernelTimes, OutliersAreReportedByTheirLine) {
  put_timings("rows.csv", 120, "h200");
  TimingTable t = read_timing_table(file("rows.csv"));
  std::string& us = t.rows[40][t.need("us")];
  us = fmt::format("{}", 9 * std::stod(us));
  put("rows.csv", to_csv(t, {}));
  const std::string out = succeed({"calibrate", "--table", "rows.csv", "--machine", "h200"}).out;
  EXPECT_NE(out.find("outlier, line 42: "), std::string::npos) << out;
}

TEST_F(CliKernelTimes, SharedConstantsPredictADeviceTheyNeverSaw) {
  std::string all;
  for (const char* device : {"a100", "h100", "b200"}) {
    put_timings("one.csv", 80, device);
    const std::string csv = read_file(file("one.csv"));
    all += all.empty() ? csv : csv.substr(csv.find('\n') + 1);
  }
  put("rows.csv", all);
  const Json json =
      succeed_json({"calibrate", "--table", "rows.csv", "--shared", "--leave-out", "h100", "-o", "c.json"});
  EXPECT_EQ(json.at("parts").at(0).at("judged_on"), "h100-sxm");
  EXPECT_LT(json.at("parts").at(0).at("mean_percent").get<double>(), 30);
  const Json there = succeed_json({"predict", "gemm", "--table", "rows.csv", "--constants", "c.json"});
  EXPECT_EQ(there.at("parts").size(), 3u);
  EXPECT_EQ(there.at("parts").at(0).at("basis"), "shared");
}

TEST_F(CliKernelTimes, PrecisionIsThatOfRowsWithoutAType) {
  put("typed.csv", "m,n,k,dtype\n512,4096,4096,fp8\n");
  put("plain.csv", "m,n,k\n512,4096,4096\n");
  const auto rows = [&](const Words& more) {
    return succeed_json(with({"predict", "gemm", "--machine", "h200", "--table"}, more)).at("rows");
  };
  EXPECT_EQ(rows({"plain.csv", "--precision", "fp8"}), rows({"typed.csv"}));
  EXPECT_NE(rows({"plain.csv"}), rows({"typed.csv"}));
  EXPECT_EQ(rows({"typed.csv", "--precision", "fp8"}), rows({"typed.csv"}));
}

TEST_F(CliKernelTimes, AnAssumedTypeIsSaid) {
  put("typed.csv", "m,n,k,dtype\n512,4096,4096,fp8\n");
  put("plain.csv", "m,n,k\n512,4096,4096\n");
  put("wide.csv", "batch,m,n,k\n1,512,512,512\n");
  const auto said = [&](const Words& more) {
    return succeed(with({"predict", "gemm", "--machine", "h200", "--table"}, more)).err;
  };
  const std::string assumed = "column 'dtype' absent: bf16 assumed; --precision says otherwise";
  EXPECT_NE(said({"plain.csv"}).find(assumed), std::string::npos) << said({"plain.csv"});
  for (const Words& words : {Words{"typed.csv"}, Words{"plain.csv", "--precision", "bf16"}})
    EXPECT_EQ(said(words).find("assumed"), std::string::npos) << said(words);
  const Words linear = {"predict", "linear", "--machine", "h200", "--table", "wide.csv"};
  EXPECT_EQ(succeed(linear).err.find("assumed"), std::string::npos) << "it has no other type";
  EXPECT_EQ(succeed(with(linear, {"--precision", "fp32"})).out, succeed(linear).out);
}

// A file that holds 45,000 rows takes a moment, not a coffee.
TEST_F(CliKernelTimes, PredictsManyRowsInSeconds) {
  put("in.csv", sizes(45000, "h200"));
  const auto begin = std::chrono::steady_clock::now();
  succeed({"predict", "gemm", "--table", "in.csv", "-o", "out.csv"});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 5);
}

}  // namespace
}  // namespace headroom::testing
