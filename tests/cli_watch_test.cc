// headroom watch: the command is left alone, the report tells what the machine did.
#include <signal.h>

#include <chrono>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

class CliWatch : public ProgramTest {
 protected:
  // The report of a command that must end with this code.
  Json report(Words options, const Words& command, int code = 0) const {
    options = with(with({"watch", "--json", "-o", "report.json"}, options), with({"--"}, command));
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return Json::parse(read_file(file("report.json")));
  }
  static Json series(const Json& report, const std::string& key) {
    for (const Json& item : report.at("series"))
      if (item.at("key") == key) return item;
    return {};
  }
};

TEST_F(CliWatch, ShowsATableAndChartsOnStandardError) {
  const Outcome outcome = succeed({"watch", "--", "sleep", "1"});
  EXPECT_EQ(outcome.out, "") << "standard output belongs to the command";
  for (const char* part : {"watched    sleep 1\n", "exit code 0", "one every 100 ms", "CPU busy",
                           "memory used", "command CPU", "mean", "CPU busy, %\n     100 |", "        +---"})
    EXPECT_TRUE(contains(outcome.err, part)) << part << "\n" << outcome.err;
}

TEST_F(CliWatch, LeavesStreamsAndWordsAlone) {
  const Outcome outcome = run_shell(
      "printf 'in\\n' | \"$0\" watch -o report -- sh -c 'cat; printf \"[%s]\" \"$@\"' "
      "sh --json -- '' --for '*' watch");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "in\n[--json][--][][--for][*][watch]");
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(contains(read_file(file("report")), "watched    sh -c"));
}

TEST_F(CliWatch, ASleepUsesNoTime) {
  const Json json = report({"--sample-ms", "50"}, {"sleep", "1"});
  EXPECT_EQ(json.at("command"), (Json{"sleep", "1"}));
  EXPECT_GE(json.at("wall_s"), 1.0);
  EXPECT_LT(json.at("wall_s"), 10.0);
  EXPECT_EQ(json.at("seconds").size(), json.at("samples"));
  EXPECT_GE(json.at("samples"), 5);
  EXPECT_LT(series(json, "command_cpu_percent").at("mean"), 10.0);
  EXPECT_GT(series(json, "command_memory_mb").at("max"), 0.1);
}

// Other programs may share the cores with it, so the kernel's bill is what to compare with: a command that
// computes all the time uses about 100 % of a core of an idle machine.
TEST_F(CliWatch, SeesACommandThatComputes) {
  const Json json =
      report({}, {"sh", "-c",
                  "end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt "
                  "20000 ]; do i=$((i+1)); done; done"});
  const double billed = 100 * (json.at("user_s").get<double>() + json.at("system_s").get<double>()) /
                        json.at("wall_s").get<double>();
  EXPECT_GT(series(json, "command_cpu_percent").at("mean"), 0.9 * billed - 3);
  EXPECT_LT(series(json, "command_cpu_percent").at("mean"), 1.1 * billed + 3);
  EXPECT_GE(series(json, "cpu_busy_percent").at("max"), 10.0);
}

TEST_F(CliWatch, ItsExitCodeIsOurs) {
  EXPECT_EQ(report({}, {"sh", "-c", "exit 3"}, 3).at("exit_code"), 3);
  EXPECT_EQ(report({}, {"sh", "-c", "kill -SEGV $$"}, 139).at("exit_code"), 139);
  EXPECT_TRUE(contains(run({"watch", "--", "sh", "-c", "kill -SEGV $$"}).err, "by signal 11 (Segmentation"));
}

TEST_F(CliWatch, ACommandThatCannotStartIsNamed) {
  const Outcome missing = run({"watch", "--", "no-such-program", "x"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.err,
            "headroom: cannot start 'no-such-program': there is no such program on the PATH\n"
            "  check its name, or give its path\n");
  put("notes.txt", "no program");
  const Outcome text = run({"watch", "--", "./notes.txt"});
  EXPECT_EQ(text.code, 126);
  EXPECT_TRUE(contains(text.err, "Permission denied")) << text.err;
}

TEST_F(CliWatch, ForEndsACommandAndItsChildren) {
  const Json json =
      report({"--for", "500ms"}, {"sh", "-c", "echo $$ > parent; sleep 60 & echo $! > child; wait"}, 143);
  EXPECT_LT(json.at("wall_s"), 30.0);
  EXPECT_EQ(json.at("stopped_by_for"), true);
  for (const char* name : {"parent", "child"}) {
    const int pid = std::stoi(read_file(file(name)));
    for (int tries = 0; tries < 50 && ::kill(pid, 0) == 0; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_NE(::kill(pid, 0), 0) << name << " still runs";
  }
  const Outcome outcome = run({"watch", "--for", "0.3", "--", "sleep", "60"});
  EXPECT_EQ(outcome.code, 143);
  EXPECT_TRUE(contains(outcome.err, "300 ms are over; sending SIGTERM")) << outcome.err;
}

TEST_F(CliWatch, ACommandThatIgnoresTheSignalIsKilled) {
  const Outcome outcome =
      run({"watch", "--for", "300ms", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"});
  EXPECT_EQ(outcome.code, 137);
  EXPECT_TRUE(contains(outcome.err, "sending SIGKILL")) << outcome.err;
}

TEST_F(CliWatch, SignalsReachTheCommand) {
  const pid_t child = start(
      {"watch", "--", "sh", "-c", "trap 'exit 7' INT; touch ready; for i in $(seq 300); do sleep 0.1; done"});
  for (int tries = 0; tries < 100 && !std::filesystem::exists(file("ready")); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ::kill(child, SIGINT);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 7) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "exit code 7")) << "the report is printed all the same";
}

TEST_F(CliWatch, WatchesTheMachineAlone) {
  const Json json = succeed_json({"watch", "--for", "300ms"});
  EXPECT_EQ(json.at("command"), Json::array());
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_TRUE(series(json, "command_cpu_percent").is_null());
  EXPECT_FALSE(series(json, "memory_used_mb").is_null());
}

TEST_F(CliWatch, WritesEverySampleAsCsv) {
  const Json json = report({"--csv", "samples.csv"}, {"sleep", "0.5"});
  const std::vector<std::string> lines = split(read_file(file("samples.csv")), '\n');
  EXPECT_TRUE(lines[0].starts_with("seconds,memory_used_mb,cpu_busy_percent,cpu0_busy_percent")) << lines[0];
  EXPECT_EQ(lines.size(), json.at("seconds").size() + 2) << "a header, the samples, the end";
}

TEST_F(CliWatch, ChartsCanBeChosen) {
  const Outcome chosen = succeed({"watch", "--chart", "memory_used_mb,command_memory_mb", "--", "true"});
  EXPECT_TRUE(contains(chosen.err, "\nmemory used, MB\n")) << chosen.err;
  EXPECT_TRUE(contains(chosen.err, "\ncommand memory, MB\n")) << chosen.err;
  EXPECT_FALSE(contains(chosen.err, "\nCPU busy, %\n")) << chosen.err;
  EXPECT_FALSE(contains(succeed({"watch", "--chart", "none", "--", "true"}).err, " +--"));
}

}  // namespace
}  // namespace headroom::testing
