// headroom profile --counters -- PROGRAM: two runs. Programs here put the record of a process where the
// library would, another one when they are counted.
#include "base/json.h"
#include "inject/launch_counter.h"
#include "inject/process_file.h"
#include "inject/testing/recorded_training.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliProgramCounters : public ProgramTest {
 protected:
  void SetUp() override {
    const auto library = std::filesystem::path(HEADROOM_PROGRAM).parent_path() / "libheadroom_inject.so";
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "this build has no library to inject";
    inject::testing::FakeProcess process;
    for (int i = 0; i < 30; ++i) inject::testing::training_step(process);
    process.aggregator().finish();
    ASSERT_TRUE(process.aggregator().write(file("traced")));
    inject::Aggregator counted;
    counted.set_counters({"1:launches", "1:instructions", "1:cycles", "1:issued", "1:warp-cycles",
                          "1:global-loads", "1:global-stores"});
    for (const char* kernel : {"_Z7forwardPf", "_Z8backwardPf", "_Z6updatePf"})
      counted.count(kernel, "step", {.grid = {8, 1, 1}, .block = {128, 1, 1}}, 0,
                    std::vector<double>{10, 4000, 2000, 4000, 32000, 300, 100});
    counted.finish();
    ASSERT_TRUE(counted.write(file("counted")));
  }
  // A program that tells its runs apart; `more` ends it.
  static Words program(const std::string& more = "true") {
    return {"sh", "-c",
            "echo hello; echo \"run: $HEADROOM_INJECT_COUNTERS\" >> runs; "
            "if [ -n \"$HEADROOM_INJECT_COUNTERS\" ]; then f=counted; else f=traced; fi; "
            "cp $f $HEADROOM_INJECT_FOLDER/$f.process; " +
                more};
  }
  static bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(CliProgramCounters, RunTheProgramTwiceAndSaySo) {
  const Outcome outcome =
      succeed(with({"profile", "--counters", "cycles,issued", "-o", "folder", "--"}, program()));
  EXPECT_EQ(outcome.out, "hello\n") << "the output of the second run is dropped";
  EXPECT_EQ(read_file(file("runs")), "run: \nrun: cycles,issued\n");
  for (const char* part : {"the program runs a second time", "The program ran twice", "20 steps watched",
                           "warps/issued", "8.00", "warps x ms"})
    EXPECT_TRUE(holds(outcome.err, part)) << part << "\n" << outcome.err;
  for (const char* table : {"launch_counters", "layer_counters", "tuning"})
    EXPECT_TRUE(std::filesystem::exists(file("folder/tables") / (std::string(table) + ".csv"))) << table;
  const Outcome diff = succeed({"diff", "folder", "folder"});
  EXPECT_TRUE(holds(diff.out, "warps/issued")) << diff.out;
}

TEST_F(CliProgramCounters, JsonHasTheTables) {
  const Json json =
      Json::parse(succeed(with({"profile", "--counters", "seed", "--json", "--"}, program())).out);
  const Json& rows = json.at("tables").at("launch_counters");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].at("kernel"), "backward");
  EXPECT_EQ(rows[0].at("instructions_per_cycle"), 2.0);
  EXPECT_EQ(rows[0].at("instructions_per_access"), 10.0);
  EXPECT_EQ(json.at("tables").at("tuning").size(), 3u);
  EXPECT_TRUE(holds(json.at("notes").dump(), "ran twice"));
}

TEST_F(CliProgramCounters, TheFirstRunDecidesTheExitCode) {
  const Outcome failed = run(with({"profile", "--counters", "seed", "--"}, program("exit 3")));
  EXPECT_EQ(failed.code, 3);
  EXPECT_EQ(read_file(file("runs")), "run: \n") << "a program that fails does not run again";
  EXPECT_TRUE(holds(failed.err, "No counters: the program failed")) << failed.err;
  const Outcome second = succeed(
      with({"profile", "--counters", "cycles", "--"}, program("test -z \"$HEADROOM_INJECT_COUNTERS\"")));
  EXPECT_TRUE(holds(second.err, "The second run ended with exit code 1")) << second.err;
  EXPECT_TRUE(holds(second.err, "warps/issued")) << "what it counted is shown\n" << second.err;
}

TEST_F(CliProgramCounters, ADamagedSecondRecordLeavesTheTimes) {
  const Outcome outcome =
      succeed(with({"profile", "--counters", "cycles", "--"},
                   program("if [ -n \"$HEADROOM_INJECT_COUNTERS\" ]; then echo nonsense > "
                           "$HEADROOM_INJECT_FOLDER/counted.process; fi")));
  EXPECT_TRUE(holds(outcome.err, "the record of the process is damaged")) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "20 steps watched")) << outcome.err;
}

// Counted kernels run one after the other: those that wait for each other hang.
TEST_F(CliProgramCounters, AnInterruptEndsTheSecondRunAlone) {
  const Outcome outcome = succeed(
      with({"profile", "--counters", "cycles", "--"},
           program("if [ -n \"$HEADROOM_INJECT_COUNTERS\" ]; then kill -INT $PPID; exec sleep 60; fi")));
  EXPECT_TRUE(holds(outcome.err, "The second run ended with signal 2")) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "20 steps watched")) << outcome.err;
}

// The library itself: without a GPU it cannot count, says why once, and the program runs on.
TEST_F(CliProgramCounters, TheLibrarySaysWhyItCannotCount) {
  const auto program = std::filesystem::path(HEADROOM_PROGRAM).parent_path() / "headroom_nvtx_program";
  const Outcome outcome =
      run({"profile", "--counters", "seed", "--json", "--step-range", "step", "--", program.string(), "end"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_FALSE(json.at("tables").contains("launch_counters"));
  int reasons = 0;
  for (const Json& note : json.at("notes"))
    reasons += note.get<std::string>().starts_with("no counters: ") ? 1 : 0;
  if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) {
    EXPECT_EQ(reasons, 1) << json.at("notes");
  }
}

// The library with a driver and a CUPTI that need no GPU: a counter of a kernel is the length of its name.
class CliFakeCupti : public CliProgramCounters {
 protected:
  void SetUp() override {
    CliProgramCounters::SetUp();
    if (!std::filesystem::exists(kBuild / "fake_cuda")) GTEST_SKIP() << "this build has no CUPTI that counts";
  }
  static Words counted_program(const std::string& settings = "") {
    return {"sh", "-c",
            "LD_LIBRARY_PATH=" + (kBuild / "fake_cuda").string() + " " + settings + " exec " +
                (kBuild / "headroom_counted_program").string() + " 300"};
  }
  inline static const std::filesystem::path kBuild = std::filesystem::path(HEADROOM_PROGRAM).parent_path();
};

TEST_F(CliFakeCupti, EveryLaunchHasItsOwnCountersRangeAndSize) {
  succeed(with({"profile", "--counters", "seed", "--step-range", "step", "-o", "folder", "--"},
               counted_program()));
  const auto processes = inject::read_processes(file("folder/counted"));
  ASSERT_EQ(processes.size(), 1u);
  const inject::ProcessRecord& r = processes[0];
  EXPECT_EQ(r.header.counting.warp_slots, 64);
  EXPECT_EQ(r.header.counting.exchanges, 300);
  EXPECT_EQ(r.header.counting.lost_windows, 0) << Json(r.notes);
  EXPECT_EQ(r.header.counting.launches, 1 + 4 * 300);
  std::set<std::string> seen;
  for (std::size_t row = 0; row < r.counted.size(); ++row) {
    const inject::CountedKernel& kernel = r.counted[row];
    const std::string name = r.names[kernel.name], range = kernel.range == 0 ? "" : r.names[kernel.range - 1];
    seen.insert(name + " in " + range + " of " + std::to_string(kernel.grid[0]));
    const double length = name == inject::kWholeGraph ? 5 : double(name.size());  // of "ab" and "abc"
    double launches = 0;
    for (std::size_t c = 0; c < r.counters.size(); ++c) {
      const double sum = r.counts[row * r.counters.size() + c];
      if (r.counters[c].ends_with(":launches"))
        launches = sum;
      else
        EXPECT_EQ(sum, launches * length) << name << " " << r.counters[c];
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"start in  of 1", "forward in step > forward of 8",
                                         "backward in step of 16", "(graph) in step of 0"}))
      << "exchanges and captured kernels are not counted";
}

TEST_F(CliFakeCupti, AUserWithoutTheRightLearnsItOnce) {
  const Outcome outcome = succeed(with({"profile", "--counters", "seed", "--step-range", "step", "--"},
                                       counted_program("FAKE_CUPTI_REFUSES=1")));
  const std::string reason = "no counters: this user may not profile the GPU (run as root";
  const std::size_t at = outcome.err.find(reason);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(reason, at + 1), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace headroom::testing
