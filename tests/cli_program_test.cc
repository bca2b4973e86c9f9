// headroom profile -- PROGRAM: without a GPU no program uses CUDA, so that programs here put the record of a
// process where the library would.
#include <map>

#include "base/json.h"
#include "inject/testing/recorded_training.h"
#include "schema_check.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

class CliProgram : public ProgramTest {
 protected:
  void SetUp() override {
    const std::filesystem::path library =
        std::filesystem::path(HEADROOM_PROGRAM).parent_path() / "libheadroom_inject.so";
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "this build has no library to inject";
  }
  // A file with the record of a training of so many steps, each so many microseconds longer than usual.
  void record_training(const std::string& name, int steps, std::int64_t longer_us = 0, int rank = -1,
                       bool finished = true) const {
    inject::testing::FakeProcess process({}, 100, rank);
    for (int i = 0; i < steps; ++i) {
      inject::testing::training_step(process);
      if (longer_us > 0) process.kernel("_Z5extraPf", longer_us);
    }
    if (finished) process.aggregator().finish();
    ASSERT_TRUE(process.aggregator().write(file(name)));
  }
  static std::string copying(const std::string& name) {
    return "cp " + name + " $HEADROOM_INJECT_FOLDER/" + name + ".process";
  }
};

TEST_F(CliProgram, PrintsTheTablesOfAProfile) {
  record_training("one", 30);
  const Outcome outcome = succeed({"profile", "--", "sh", "-c", copying("one") + "; echo hello"});
  EXPECT_EQ(outcome.out, "hello\n") << "standard output belongs to the program";
  for (const char* part : {"20 steps watched, 115 us each", "compute", "copies not hidden", "backward",
                           "step > forward", "cudaLaunchKernel", "host to device", "whole run",
                           "the same 3 again and again, 30 steps in all", "1 process with CUDA, 300 records"})
    EXPECT_TRUE(holds(outcome.err, part)) << part << "\n" << outcome.err;
}

// The library learns of it by its environment, and tables show what it records then.
TEST_F(CliProgram, GraphsCanBeRecordedAsAWhole) {
  inject::testing::FakeProcess process;
  for (int i = 0; i < 3; ++i) inject::testing::training_step(process);
  for (int i = 0; i < 30; ++i) process.whole_graph(70, 7), process.pause(10);
  process.aggregator().finish();
  ASSERT_TRUE(process.aggregator().write(file("graphs")));
  const std::string words = copying("graphs") + "; echo graphs: $HEADROOM_INJECT_GRAPHS";
  const Outcome outcome = succeed({"profile", "--graphs", "whole", "--", "sh", "-c", words});
  EXPECT_EQ(outcome.out, "graphs: whole\n");
  for (const char* part : {"20 steps watched", "(graph 1)", "the same one again and again, 30 steps"})
    EXPECT_TRUE(holds(outcome.err, part)) << part << "\n" << outcome.err;
  const Outcome card = succeed({"profile", "--card", "(graph", "--", "sh", "-c", copying("graphs")});
  EXPECT_TRUE(holds(card.err, "launches")) << card.err;
  EXPECT_FALSE(holds(card.err, "registers")) << "a graph has none\n" << card.err;
}

TEST_F(CliProgram, JsonStandsAlone) {
  record_training("one", 30);
  const Outcome outcome = succeed({"profile", "--json", "--", "sh", "-c", copying("one") + "; echo hello"});
  const Json json = Json::parse(outcome.out);
  EXPECT_TRUE(holds(outcome.err, "hello"));
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_EQ(json.at("processes"), 1);
  for (const char* table : {"step", "split", "kernels", "calls", "copies", "rates", "flat", "ranges", "run",
                            "range_kernels", "step_kernels", "whole_run"})
    EXPECT_TRUE(json.at("tables").contains(table)) << table;
  EXPECT_EQ(json.at("tables").at("kernels").size(), 3u);
}

TEST_F(CliProgram, FoldersCanBeCompared) {
  record_training("one", 30);
  record_training("two", 30, 100);
  for (const char* name : {"one", "two"}) {
    const std::string folder = std::string(name) + "-profile";
    succeed({"profile", "-o", folder, "--", "sh", "-c", copying(name)});
    for (const char* part :
         {"record.json", "trace.json", "trace.chrome.json", "trace.perfetto-trace", "trace.speedscope.json",
          "samples.csv", "tables/whole_run.csv", "tables/step.csv"})
      EXPECT_TRUE(std::filesystem::exists(file(folder) / part)) << part;
  }
  std::vector<std::string> wrong;
  check_schema(Json::parse(read_file(HEADROOM_SOURCE_DIR "/docs/run-record.schema.json")),
               Json::parse(read_file(file("one-profile/record.json"))), "record", wrong);
  EXPECT_EQ(wrong, std::vector<std::string>{});
  const Outcome outcome = succeed({"diff", "one-profile", "two-profile"});
  EXPECT_TRUE(holds(outcome.out, "slower")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "extra(float*)")) << outcome.out;
}

TEST_F(CliProgram, RanksAreColumns) {
  record_training("one", 12, 0, 1);
  record_training("two", 12, 50, 0);
  const Outcome outcome = succeed({"profile", "--", "sh", "-c", copying("one") + ";" + copying("two")});
  for (const char* part : {"rank 0 ms", "rank 1 ms", "2 processes with CUDA"})
    EXPECT_TRUE(holds(outcome.err, part)) << part << "\n" << outcome.err;
}

TEST_F(CliProgram, ARangeCanBeTheStep) {
  record_training("one", 30);
  const Outcome outcome =
      succeed({"profile", "--step-range", "step", "--steps", "5", "--", "sh", "-c", copying("one")});
  EXPECT_TRUE(holds(outcome.err, "5 steps watched")) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, "A step is an NVTX range 'step'.")) << outcome.err;
}

TEST_F(CliProgram, ACrashKeepsWhatRan) {
  record_training("one", 30, 0, -1, false);
  const Outcome outcome =
      run({"profile", "-o", "folder", "--", "sh", "-c", copying("one") + "; kill -SEGV $$"});
  EXPECT_EQ(outcome.code, 139);
  for (const char* part : {"signal 11 (Segmentation fault), exit code 139", "20 steps watched",
                           "Process 100 did not end by itself"})
    EXPECT_TRUE(holds(outcome.err, part)) << part << "\n" << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(file("folder/record.json")));
}

TEST_F(CliProgram, SaysThatNoGpuWasUsed) {
  const Outcome outcome = run({"profile", "--", "true"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(holds(outcome.err, "no CUDA was used")) << outcome.err;
  EXPECT_EQ(run({"profile", "--", "sh", "-c", "(exit 0) & wait; exit 3"}).code, 3) << "it forks, and fails";
  EXPECT_EQ(run({"profile", "--", "/no/such/program"}).code, 127);
}

TEST_F(CliProgram, ARunWithoutAProfileLeavesTheFolderAsItWas) {
  EXPECT_EQ(run({"profile", "-o", "a/new", "--", "true"}).code, 1);
  EXPECT_FALSE(std::filesystem::exists(file("a")));
  std::filesystem::create_directories(file("old/processes"));
  put("old/processes/host-1.process", "of an earlier run");
  EXPECT_EQ(run({"profile", "-o", "old", "--", "true"}).code, 1);
  EXPECT_EQ(read_file(file("old/processes/host-1.process")), "of an earlier run");
  EXPECT_FALSE(std::filesystem::exists(file("old/processes.part")));
}

TEST_F(CliProgram, OptionsOfNetworksAreRefused) {
  const Words options[] = {{"--batch", "0"},       {"--lr", "1"},      {"--precision", "tf32"},
                           {"--device", "cpu"},    {"--threads", "2"}, {"--epochs=3"},
                           {"--save", "w.st"},     {"--explain"},      {"--check-against", "cpu"},
                           {"--parallel", "data"}, {"--prove"}};
  for (const Words& option : options) {
    const Outcome outcome = run(with(with({"profile"}, option), {"--", "touch", "started"}));
    EXPECT_EQ(outcome.code, 2) << option[0];
    EXPECT_TRUE(holds(outcome.err, "is about networks that headroom runs")) << option[0] << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(file("started")));
  EXPECT_EQ(run({"profile", "--wide", "--steps", "3", "--", "sh", "-c", "exit 5", "--batch"}).code, 5);
}

// The library itself, in a program that calls it as the driver would.
class CliInjectedLibrary : public CliProgram {
 protected:
  Outcome profile(const std::string& ending) const {
    const auto program = std::filesystem::path(HEADROOM_PROGRAM).parent_path() / "headroom_nvtx_program";
    return run({"profile", "--json", "--step-range", "step", "--", program.string(), ending});
  }
  static std::map<std::string, int> counts(const Json& json) {
    std::map<std::string, int> counts;
    for (const Json& row : json.at("tables").at("whole_run"))
      if (row.at("kind") == "range") counts[row.at("name")] = row.at("count");
    return counts;
  }
};

TEST_F(CliInjectedLibrary, RecordsRangesOfAllDomainsAndThreads) {
  for (const char* ending : {"end", "fork", "fork-after"}) {
    const Outcome outcome = profile(ending);
    ASSERT_EQ(outcome.code, 0) << ending << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("processes"), 1) << ending << ": only one process uses CUDA";
    EXPECT_EQ(counts(json),
              (std::map<std::string, int>{
                  {"start-up", 1}, {"step", 3}, {"batch", 3}, {"forward", 3}, {"across threads", 1}}))
        << ending;
  }
}

TEST_F(CliInjectedLibrary, ACrashKeepsWhatWasWritten) {
  const Outcome outcome = profile("crash");
  EXPECT_EQ(outcome.code, 139);
  EXPECT_EQ(counts(Json::parse(outcome.out)).at("step"), 3);
}

TEST_F(CliProgram, GivesTheProgramItsLibraryAndItsFolder) {
  const Outcome outcome =
      run({"profile", "--window", "first:2s", "--", "sh", "-c",
           "echo $CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH $HEADROOM_INJECT_WINDOW; "
           "test -f $CUDA_INJECTION64_PATH && test -d $HEADROOM_INJECT_FOLDER && echo both"});
  EXPECT_TRUE(holds(outcome.out, "libheadroom_inject.so first 4000000 2000000000")) << outcome.out;
  EXPECT_TRUE(holds(outcome.out, "both")) << outcome.out;
}

TEST_F(CliProgram, RefusesASecondLibrary) {
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const Outcome outcome = run({"profile", "--", "touch", "started"}, {{name, "/opt/other.so"}});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(holds(outcome.err, std::string(name) + " is set to /opt/other.so")) << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(file("started")));
}

TEST_F(CliProgram, ADamagedRecordIsNamed) {
  const Outcome outcome =
      run({"profile", "--", "sh", "-c", "echo nonsense > $HEADROOM_INJECT_FOLDER/x.process"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(holds(outcome.err, "x.process: the record of the process is damaged")) << outcome.err;
}

}  // namespace
}  // namespace headroom::testing
