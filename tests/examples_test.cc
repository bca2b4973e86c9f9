// Runs every example script of examples/, at a small size.
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
  for (const char* verb :
       {"bench", "calibrate", "data", "demo", "diff", "doctor", "eval", "generate", "machine", "model",
        "predict", "profile", "recipe", "report", "roofline", "run", "train", "tune", "watch"})
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

}  // namespace
}  // namespace headroom::testing
