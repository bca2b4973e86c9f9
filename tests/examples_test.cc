// Runs every example script of examples/, and the story in each of its folders, at a small size.
#include "base/text.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

const std::filesystem::path kExamples = std::filesystem::path(HEADROOM_SOURCE_DIR) / "examples";

std::vector<std::string> scripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples))
    if (entry.path().extension() == ".sh") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class Examples : public ProgramTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(Examples, Runs) {
  const std::filesystem::path script = kExamples / (GetParam() + ".sh");
  const Outcome outcome = finish(start_any({script.string()}, {{"HEADROOM", HEADROOM_PROGRAM},
                                                               {"OUT", "."},
                                                               {"SIZE", "256"},
                                                               {"ROUNDS", "1"},
                                                               {"SECONDS_TO_MEASURE", "0.2"}}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(outcome.out.empty());
}

INSTANTIATE_TEST_SUITE_P(Scripts, Examples, ::testing::ValuesIn(scripts()),
                         [](const auto& example) { return example.param; });

TEST(ExampleScripts, ThereIsOneForEveryVerb) {
  for (const char* verb : {"bench",    "calibrate", "data",  "demo",    "diff",    "doctor", "eval",
                           "generate", "machine",   "model", "predict", "profile", "recipe", "report",
                           "roofline", "run",       "sweep", "train",   "tta",     "tune",   "watch"})
    EXPECT_TRUE(std::filesystem::exists(kExamples / fmt::format("{}.sh", verb))) << verb;
}

TEST(ExampleScripts, AreShortCommentedAndListed) {
  const std::string readme = read_file(kExamples / "README.md");
  for (const std::string& name : scripts()) {
    const std::string text = read_file(kExamples / (name + ".sh"));
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20) << name;
    EXPECT_TRUE(text.starts_with("#!/bin/sh\n# ")) << name;
    EXPECT_NE(readme.find("(" + name + ".sh)"), std::string::npos) << name;
    const auto permissions = std::filesystem::status(kExamples / (name + ".sh")).permissions();
    EXPECT_NE(permissions & std::filesystem::perms::owner_exec, std::filesystem::perms::none) << name;
  }
}

// The folders that tell a story: a script run.sh, and a README.md with what it prints.
std::vector<std::string> stories() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples))
    if (std::filesystem::exists(entry.path() / "run.sh")) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class Stories : public ProgramTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(Stories, RunAndPrintWhatTheirReadmeShows) {
  know_machine(1);
  Environment settings = {{"HEADROOM", HEADROOM_PROGRAM},
                          {"OUT", "."},
                          {"THREADS", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                          {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                          {"OMPI_MCA_mpi_yield_when_idle", "1"}};
  if (const char* data = std::getenv("HEADROOM_DATA")) settings["HEADROOM_DATA"] = data;
  const Outcome outcome = finish(start_any({(kExamples / GetParam() / "run.sh").string()}, settings));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string readme = read_file(kExamples / GetParam() / "README.md");
  int headings = 0;
  for (const std::string& line : split(outcome.out, '\n')) {
    if (!line.starts_with("== ")) continue;
    EXPECT_NE(readme.find("\n" + line + "\n"), std::string::npos) << "the README lacks: " << line;
    ++headings;
  }
  EXPECT_GE(headings, 3);
}

std::string story_name(const ::testing::TestParamInfo<std::string>& story) {
  std::string name = story.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Folders, Stories, ::testing::ValuesIn(stories()), story_name);

TEST(StoryFolders, AreSixShortAndListed) {
  EXPECT_EQ(stories(), (std::vector<std::string>{"convolution", "four-convnets", "memory", "perceptron",
                                                 "performance-model", "two-frameworks"}));
  const std::string list = read_file(kExamples / "README.md");
  for (const std::string& name : stories()) {
    const std::string text = read_file(kExamples / name / "run.sh");
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50) << name;
    EXPECT_TRUE(text.starts_with("#!/bin/sh\n# ")) << name;
    EXPECT_NE(text.find("${FULL:-0}"), std::string::npos) << name << " has no full size";
    EXPECT_NE(list.find("(" + name + "/README.md)"), std::string::npos) << name;
    EXPECT_NE(read_file(kExamples / name / "README.md").find("FULL=1"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace headroom::testing
