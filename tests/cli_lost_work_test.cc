// What a user worked for is not lost: results are printed before files are written, and a file that cannot be
// written loses neither the result nor the other files.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "base/json.h"
#include "report/record.h"
#include "support/program.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

struct CliLostWork : ProgramTest {
  static Words train(const Words& more = {}) {
    return with({"train", "mlp:hidden=8", "--train-size", "64", "--test-size", "32", "--epochs", "1"}, more);
  }
  // A failed run that printed its result.
  void expect_printed(const Words& args, const std::string& result, const Words& parts) const {
    const std::string shown = fmt::format("headroom {}", fmt::join(args, " "));
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.code, 1) << shown << "\n" << outcome.err;
    EXPECT_NE(outcome.out.find(result), std::string::npos) << shown << "\n" << outcome.out;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << "no '" << part << "' from " << shown << "\n"
                                                           << outcome.err;
  }
  // Interrupts a run after its first step.
  Outcome interrupted(const Words& args) const {
    const pid_t child = start(with(args, {"--log-every", "1"}));
    for (int i = 0; i < 3000 && read_file(err_).find("step ") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(child, SIGINT);
    return finish(child);
  }
};

const Words kFull = {"cannot write /dev/full", "No space left", "free some space"};

TEST_F(CliLostWork, AFullDeviceLosesTheFileNotTheResult) {
  for (const char* option : {"--save", "--save-onnx", "--record"}) {
    expect_printed(train({option, "/dev/full"}), "accuracy ", kFull);
    expect_printed(train({option, "/dev/full", "--json"}), "\"accuracy\"", kFull);
  }
}

TEST_F(CliLostWork, OneFullDeviceDoesNotLoseTheOtherFiles) {
  expect_printed(train({"--save", "/dev/full", "--save-onnx", "w.onnx", "--record", "r"}), "accuracy ",
                 kFull);
  EXPECT_EQ(files(), (std::set<std::string>{"r", "w.onnx"}));
  read_record(file("r"));
}

TEST_F(CliLostWork, EvalAndRunPrintBeforeTheyWrite) {
  succeed(train({"--save", "w"}));
  expect_printed({"eval", "mlp:hidden=8", "--weights", "w", "--test-size", "32", "--record", "/dev/full"},
                 "accuracy ", kFull);
  std::string npy = "\x93NUMPY";
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 784), }";
  npy += std::string("\x01\x00", 2) + static_cast<char>(header.size() + 1) + '\0' + header + "\n";
  put("x.npy", npy + std::string(784 * 4, '\0'));
  expect_printed({"run", "mlp:hidden=8", "--weights", "w", "--input", "x.npy", "--record", "/dev/full"},
                 "out", kFull);
}

TEST_F(CliLostWork, ALimitOnFileSizesIsAnErrorAndLeavesNothing) {
  const Outcome outcome = run_shell(
      "ulimit -f 4; exec \"$0\" train mlp:hidden=8 --train-size 64 --test-size 32 --epochs 1 --save w");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("accuracy "), std::string::npos) << outcome.out;
  for (const char* part : {"cannot write w", "ulimit -f"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(files(), std::set<std::string>{});
}

// In the first epoch there is neither a test nor a curve.
TEST_F(CliLostWork, AnInterruptInTheFirstEpochKeepsWhatThereIs) {
  const Words words = {"train", "lenet5", "--epochs", "50", "--save", "w", "--record", "r"};
  const Outcome text = interrupted(words);
  EXPECT_EQ(text.code, 128 + SIGINT);
  for (const char* part : {"C1 ", "interrupted after step ", "in epoch 1 of 50", "not tested"})
    EXPECT_NE(text.out.find(part), std::string::npos) << "no " << part << " in\n" << text.out;
  EXPECT_EQ(text.out.find("nan"), std::string::npos) << text.out;
  const RunRecord record = read_record(file("r"));
  ASSERT_TRUE(record.training);
  EXPECT_TRUE(record.training->interrupted);
  EXPECT_TRUE(record.training->epochs.empty());
  EXPECT_GT(record.training->images_per_s, 0);
  succeed({"eval", "lenet5", "--weights", "w", "--test-size", "100"});

  const Json json = Json::parse(interrupted(with(words, {"--json"})).out);
  EXPECT_EQ(json.at("interrupted"), true);
  EXPECT_TRUE(json.at("accuracy").at("test").is_null());
  EXPECT_GT(json.at("loss"), 0);
  EXPECT_GT(json.at("steps"), 0);
}

TEST_F(CliLostWork, AFinishedRunIsNotMarkedInterrupted) {
  EXPECT_EQ(succeed_json(train({"--record", "r"})).at("interrupted"), false);
  EXPECT_FALSE(read_record(file("r")).training->interrupted);
}

TEST_F(CliLostWork, ARooflineThatCannotBeSavedIsPrinted) {
  const Environment read_only = {{"HEADROOM_CACHE", "/dev/null/cache"}};
  const Outcome outcome = succeed({"roofline", "--device", "cpu", "--seconds", "0.1"}, read_only);
  EXPECT_NE(outcome.out.find("fp32"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("saved as"), std::string::npos) << outcome.out;
  // On a busy machine nothing would be saved anyway.
  const bool busy = outcome.out.find("not saved: other programs were running") != std::string::npos;
  for (const char* part : {"'here' was not saved", "/dev/null/cache"})
    EXPECT_TRUE(busy || outcome.err.find(part) != std::string::npos) << outcome.out << outcome.err;
  succeed_json({"roofline", "--device", "cpu", "--seconds", "0.1"}, read_only);
}

TEST_F(CliLostWork, ADamagedMachineFileIsNamedAndMeasuredAgain) {
  for (const char* damage : {"{", "", "{\"name\": \"here\"}"}) {
    temporary_.put("cache/machines/here.json", damage);
    const Outcome outcome = succeed(train());
    for (const char* part : {"here.json", "measuring this machine again"})
      EXPECT_NE(outcome.err.find(part), std::string::npos) << damage << "\n" << outcome.err;
    EXPECT_NE(outcome.out.find("accuracy "), std::string::npos) << outcome.out;
    const bool busy = outcome.err.find("doubtful") != std::string::npos;  // then nothing is saved
    EXPECT_TRUE(busy || succeed(train()).err.find("here.json") == std::string::npos) << "written again";
  }
  temporary_.put("cache/machines/here.json", "{");
  EXPECT_NE(succeed({"predict", "lenet5", "--machine", "here"}).err.find("here.json"), std::string::npos);
}

TEST_F(CliLostWork, MadeGlyphsOverwriteNothingUnlessForced) {
  for (const auto& [name, bytes] : idx_files(make_glyphs({.train = 20, .test = 10})))
    put("mnist/" + name, bytes);
  const std::string images = "train-images-idx3-ubyte", before = read_file(file("mnist/" + images));
  const Words make = {"data", "make", "glyphs", "mnist", "--train-size", "30", "--test-size", "10"};
  expect_refused(make, {"mnist/" + images, "already exists", "--force"});
  EXPECT_TRUE(read_file(file("mnist/" + images)) == before);
  succeed(with(make, {"--force"}));
  EXPECT_FALSE(read_file(file("mnist/" + images)) == before);
  expect_refused(with(make, {"--gzip", "--force"}), {"already exists", "read it instead"});
  // One file of another set is enough.
  put("other/t10k-labels-idx1-ubyte", "precious");
  expect_refused({"data", "make", "glyphs", "other"}, {"other/t10k-labels-idx1-ubyte", "--force"});
}

}  // namespace
}  // namespace headroom::testing
