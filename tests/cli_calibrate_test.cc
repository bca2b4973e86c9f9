// headroom calibrate without a table: what it writes is used from then on, beside every measurement.
#include "base/file.h"
#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliCalibrate : public ProgramTest {};

Json timed_network(const Json& bench) { return bench.at("nets").at(0); }

TEST_F(CliCalibrate, ThisMachineIsKnownFromThenOn) {
  const Words forward = {"bench", "forward", "mlp:hidden=32", "--batch", "16", "--seconds", "0.01", "--step"};
  EXPECT_EQ(timed_network(succeed_json(forward)).at("basis"), "shared") << "by the built-in constants";

  const Json json = succeed_json({"calibrate", "--seconds", "1.5", "-o", "constants.json"});
  EXPECT_GE(json.at("timings").get<int>(), 20);
  EXPECT_GT(json.at("kinds").size(), 5u);
  for (const char* what : {"unseen_steps", "unseen_runs"}) {
    EXPECT_GT(json.at(what).at("median_percent").get<double>(), 0) << what;
    EXPECT_GT(json.at(what).at("rows").get<int>(), 0) << what;
  }
  EXPECT_TRUE(std::filesystem::exists(json.at("file").get<std::string>()));

  const Json net = timed_network(succeed_json(forward));
  EXPECT_EQ(net.at("basis"), "calibrated");
  for (const std::string run : {"forward_", "step_"}) {
    const double predicted = net.at(run + "predicted_ms");
    EXPECT_GT(predicted, 0);
    EXPECT_LE(net.at(run + "low_ms").get<double>(), predicted);
    EXPECT_GE(net.at(run + "high_ms").get<double>(), predicted);
    EXPECT_NEAR(net.at(run + "off_percent").get<double>(),
                100 * (predicted / net.at(run + "ms").get<double>() - 1), 1e-6);
  }
  EXPECT_EQ(succeed_json({"predict", "lenet5"}).at("predictions").at(0).at("basis"), "calibrated");
}

// From the timings of a file, without the machine: the same rows give the same constants.
TEST_F(CliCalibrate, TimingsOfAFileAreFittedAgain) {
  const std::string saved = succeed_json({"calibrate", "--seconds", "1.5"}).at("file");
  const Json before = Json::parse(read_file(saved));
  Json changed = before;
  changed["kinds"]["all"]["efficiency"] = 0.123;
  write_file(saved, changed.dump());
  const Json summary = succeed_json({"calibrate", "--refit", saved});
  EXPECT_EQ(summary.at("file"), saved);
  const Json after = Json::parse(read_file(saved));
  EXPECT_EQ(after.at("rows"), before.at("rows"));
  EXPECT_EQ(after.at("kinds"), before.at("kinds")) << "the same rows, another fit";
}

// It is of one machine: another number of threads, and a damaged file, are said and not used.
TEST_F(CliCalibrate, ACalibrationOfAnotherMachineIsSaid) {
  const std::string saved = succeed_json({"calibrate", "--seconds", "1.5"}).at("file");
  Json json = Json::parse(read_file(saved));
  json["cores"] = 999;
  write_file(saved, json.dump());
  const Outcome other = succeed({"predict", "lenet5"});
  EXPECT_NE(other.err.find("of another machine"), std::string::npos) << other.err;
  EXPECT_NE(other.out.find("shared"), std::string::npos) << other.out;
  write_file(saved, "{");
  const std::string told = succeed({"predict", "lenet5"}).err, doubt = "calibration is not used";
  EXPECT_NE(told.find(doubt), std::string::npos) << told;
  EXPECT_EQ(told.find(doubt), told.rfind(doubt)) << "it is told once: " << told;
  EXPECT_NE(told.find("`headroom calibrate` makes a new one"), std::string::npos) << told;
}

// For machines that nobody measured: shares of peaks, and starts as multiples of this machine's own.
TEST_F(CliCalibrate, ConstantsAloneAreWrittenOnRequest) {
  succeed({"calibrate", "--seconds", "1.5", "-o", "constants.json"});
  const Json constants = Json::parse(read_file(file("constants.json")));
  EXPECT_EQ(constants.at("basis"), "shared");
  EXPECT_TRUE(constants.at("kinds").contains("plain"));
  for (const auto& [name, kind] : constants.at("kinds").items())
    for (const char* field : {"efficiency", "half_m", "half_n", "half_k", "memory_share", "starts"})
      EXPECT_GT(kind.at(field).get<double>(), 0) << name << " " << field;
}

// 64 images of 3x224x224 over 12 GB/s and more take milliseconds, a T4 computes for longer.
TEST_F(CliCalibrate, CopiesArePartOfAStepOnRequest) {
  const Words words = {"predict", "alexnet", "--machine", "t4", "--mode", "eval", "--batch", "64"};
  const auto prediction = [&](const Words& more) {
    return succeed_json(with(words, more)).at("predictions").at(0);
  };
  const Json without = prediction({}), copied = prediction({"--copies"});
  const double copies = without.at("parts").at("copies_ms");
  EXPECT_GT(copies, 1);
  EXPECT_GT(without.at("parts").at("forward_ms").get<double>(), 0);
  EXPECT_EQ(without.at("parts").at("backward_ms").get<double>(), 0);
  EXPECT_DOUBLE_EQ(copied.at("predicted_ms").get<double>(),
                   std::max(without.at("predicted_ms").get<double>(), copies));
  EXPECT_EQ(succeed_json({"predict", "lenet5"}).at("predictions").at(0).at("parts").at("copies_ms"), 0)
      << "a CPU reads them where they are";
}

TEST_F(CliCalibrate, ExplainTellsOfBlocksAndRivals) {
  const std::string text = succeed({"predict", "lenet5", "--machine", "h200", "--explain", "--wide"}).out;
  for (const char* part : {"kernels on h200", "waves", "tail %", "rivals", "conv2d_grad_weight"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(CliCalibrate, OperatorsHaveBothReadingsToo) {
  const Json json = succeed_json({"bench", "ops", "neg", "--rounds", "1"});
  const Json& op = json.at("operators").at(0);
  EXPECT_GT(op.at("predicted_ms").get<double>(), 0);
  EXPECT_TRUE(op.contains("low_ms") && op.contains("high_ms") && op.contains("off_percent"));
}

}  // namespace
}  // namespace headroom::testing
