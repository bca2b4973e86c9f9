// headroom profile -- PROGRAM on a GPU: the program is headroom itself, which knows nothing of it.
#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CudaProgram : public ProgramTest {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    ProgramTest::SetUp();
  }
  Json profile(const Words& more) const {
    const Words train = {HEADROOM_PROGRAM, "train", "lenet5",   "--train-size", "6400", "--test-size", "64",
                         "--epochs",       "1",     "--device", "cuda"};
    return Json::parse(succeed(with({"profile", "--json", "--"}, with(train, more))).out);
  }
};

// Rows of one kind of the table of the whole run: how many records in all.
std::int64_t records_of(const Json& json, const std::string& kind) {
  std::int64_t count = 0;
  for (const Json& row : json.at("tables").at("whole_run"))
    if (row.at("kind") == kind) count += row.at("count").get<std::int64_t>();
  return count;
}

TEST_F(CudaProgram, SeesKernelsCopiesCallsAndSteps) {
  for (const char* graph : {"--graph", "--no-graph"}) {
    const Json json = profile({graph});
    EXPECT_EQ(json.at("exit_code"), 0) << graph;
    EXPECT_EQ(json.at("processes"), 1) << graph;
    EXPECT_EQ(json.at("dropped"), 0) << graph;
    for (const char* kind : {"kernel", "copy", "call"}) EXPECT_GT(records_of(json, kind), 0) << graph << kind;
    EXPECT_NE(json.at("notes").dump().find("Steps were found"), std::string::npos)
        << graph << json.at("notes");
  }
}

// One record for each launch of the captured step, and none for the kernels in it.
TEST_F(CudaProgram, RecordsGraphsAsAWhole) {
  const Words train = {HEADROOM_PROGRAM, "train", "lenet5",   "--train-size", "6400",   "--test-size", "64",
                       "--epochs",       "1",     "--device", "cuda",         "--graph"};
  const Json kernels =
      profile({"--graph"});  // first: the program measures the GPU once, and that is over then
  const Json whole = Json::parse(succeed(with({"profile", "--json", "--graphs", "whole", "--"}, train)).out);
  std::int64_t graphs = 0;
  for (const Json& row : whole.at("tables").at("whole_run"))
    if (row.at("name").get<std::string>().starts_with("(graph"))
      graphs += row.at("count").get<std::int64_t>();
  EXPECT_GE(graphs, 80) << "100 steps, the first of which are not captured";
  EXPECT_LT(records_of(whole, "kernel"), records_of(kernels, "kernel") / 2);
  EXPECT_NE(whole.at("notes").dump().find("again and again"), std::string::npos) << whole.at("notes");
}

TEST_F(CudaProgram, HasTheKernelsOfOurOwnProfile) {
  const Json outside = profile({"--no-graph"});
  const Json inside = Json::parse(succeed({"profile", "lenet5", "--data", "glyphs", "--train-size", "6400",
                                           "--test-size", "64", "--device", "cuda", "--no-graph", "--json"})
                                      .out);
  std::set<std::string> seen;
  for (const Json& row : outside.at("tables").at("kernels")) seen.insert(row.at("name"));
  for (const Json& row : inside.at("tables").at("kernels"))
    EXPECT_TRUE(seen.contains(row.at("name"))) << row.at("name");
}

TEST_F(CudaProgram, WeightsHaveTheSameBitsWithAndWithout) {
  const Words train = {"train",    "lenet5", "--train-size", "6400", "--test-size",    "64",
                       "--epochs", "1",      "--device",     "cuda", "--deterministic"};
  succeed(with(train, {"--save", "plain.safetensors"}));
  succeed(with({"profile", "--", HEADROOM_PROGRAM}, with(train, {"--save", "watched.safetensors"})));
  EXPECT_EQ(read_file(file("plain.safetensors")), read_file(file("watched.safetensors")));
}

// The counters of our own network's kernels, read from outside: cycles and instructions are really counted.
TEST_F(CudaProgram, CountsKernelsInASecondRun) {
  const Words train = {
      HEADROOM_PROGRAM, "train", "lenet5",   "--train-size", "6400",      "--test-size", "64",
      "--epochs",       "1",     "--device", "cuda",         "--no-graph"};
  const Json json = Json::parse(succeed(with({"profile", "--counters", "seed", "--json", "--"}, train)).out);
  for (const Json& note : json.at("notes"))
    if (note.get<std::string>().starts_with("no counters: ")) GTEST_SKIP() << note;
  ASSERT_TRUE(json.at("tables").contains("launch_counters")) << json.at("notes");
  const Json& rows = json.at("tables").at("launch_counters");
  EXPECT_GT(rows.size(), 5u);
  for (const Json& row : rows) {
    EXPECT_GT(row.at("instructions").get<double>(), 0) << row;
    EXPECT_LE(row.at("instructions_per_cycle").get<double>(), 4.0) << row;
    EXPECT_LE(row.at("occupancy_percent").get<double>(), 100.0) << row;
  }
  EXPECT_TRUE(json.at("tables").contains("tuning"));
  EXPECT_EQ(json.at("exit_code"), 0);
}

// A captured step is one launch, with counters as a whole; the program gives the same weights.
TEST_F(CudaProgram, CountsGraphsAsAWhole) {
  const Words train = {"train",    "lenet5", "--train-size", "6400", "--test-size",     "64",
                       "--epochs", "1",      "--device",     "cuda", "--deterministic", "--graph"};
  succeed(with(train, {"--save", "plain.safetensors"}));
  const Json json = Json::parse(
      succeed(with({"profile", "--counters", "cycles,instructions", "--json", "--", HEADROOM_PROGRAM},
                   with(train, {"--save", "counted.safetensors"})))
          .out);
  EXPECT_EQ(read_file(file("plain.safetensors")), read_file(file("counted.safetensors")));
  for (const Json& note : json.at("notes"))
    if (note.get<std::string>().starts_with("no counters: ")) GTEST_SKIP() << note;
  EXPECT_NE(json.at("notes").dump().find("only as a whole"), std::string::npos) << json.at("notes");
}

// PyTorch's AlexNet: nearly every kernel belongs to a module, forward or backward, or to the optimiser.
TEST_F(CudaProgram, NamesTheLayersOfPytorch) {
  if (run_shell("python3 -c 'import torch; torch.zeros(1).cuda()'").code != 0)
    GTEST_SKIP() << "python3 has no PyTorch that sees a GPU";
  const Words program = {"profile",
                         "--layers",
                         "torch",
                         "--json",
                         "--",
                         "python3",
                         HEADROOM_SOURCE_DIR "/examples/two-frameworks/alexnet.py",
                         "--batch",
                         "16",
                         "--steps",
                         "30"};
  for (const Words& graph : {Words{}, Words{"--graph"}}) {
    const Json json = Json::parse(succeed(with(program, graph)).out);
    double layers = 0, all = 0;
    for (const Json& row : json.at("tables").at("range_kernels")) {
      const auto range = row.at("range").get<std::string>();
      const double percent = row.at("percent").get<double>();
      all += percent;
      for (const char* const begins : {"AlexNet > ", "CrossEntropyLoss", "Optimizer.step"})
        if (range.starts_with(begins)) layers += percent;
    }
    EXPECT_GT(all, 0) << json.at("notes");
    EXPECT_GE(layers, 0.97 * all) << graph.size() << json.at("tables").at("range_kernels");
  }
}

}  // namespace
}  // namespace headroom::testing
