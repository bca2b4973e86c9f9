// What tables look like to users: they fit the terminal, names cannot steer it, and counts are in the right
// number.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliTables : ProgramTest {
  static std::size_t widest(const std::string& text) {
    std::size_t most = 0;
    for (const std::string& line : split(text, '\n'))
      most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(
                                line, [](unsigned char c) { return (c & 0xC0) != 0x80; })));
    return most;
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(CliTables, ListsFitEightyColumns) {
  for (const char* verb : {"model", "data", "recipe", "machine"}) {
    const std::string list = succeed({verb, "list"}).out, wide = succeed({verb, "list", "--wide"}).out;
    EXPECT_LE(widest(list), 86u) << list;
    EXPECT_GT(widest(wide), 100u) << wide;
  }
  EXPECT_LE(widest(succeed({"model", "list"}).out), 80u);
}

TEST_F(CliTables, TheWidthCanBeChosen) {
  EXPECT_LE(widest(succeed({"model", "list", "--width", "60"}).out), 60u);
  EXPECT_LE(widest(succeed({"model", "list"}, {{"COLUMNS", "70"}}).out), 70u);
  EXPECT_EQ(succeed({"model", "list", "--width", "60"}, {{"COLUMNS", "70"}}).out,
            succeed({"model", "list", "--width", "60"}).out);
  EXPECT_EQ(succeed({"model", "list"}, {{"COLUMNS", "many"}}).out, succeed({"model", "list"}).out);
}

TEST_F(CliTables, WhatIsLeftOutIsNamed) {
  const std::string narrow = succeed({"model", "show", "lenet5", "--width", "80"}).out;
  EXPECT_TRUE(contains(narrow, "At 80 columns without other")) << narrow;
  EXPECT_TRUE(contains(narrow, "--wide shows all")) << narrow;
  EXPECT_FALSE(contains(succeed({"model", "show", "lenet5"}).out, "without"))
      << "no limit without a terminal";
}

TEST_F(CliTables, LayersAreSortedAndCut) {
  const std::string top = succeed({"model", "show", "lenet5", "--sort", "FLOPs", "--top", "1"}).out;
  EXPECT_TRUE(contains(top, "\nC3 ") && !contains(top, "\nC1 ") && contains(top, "\ntotal ")) << top;
  const std::string total = succeed({"model", "show", "lenet5", "--summary"}).out;
  EXPECT_TRUE(!contains(total, "\nC3 ") && contains(total, "\ntotal ")) << total;
}

TEST_F(CliTables, NetworksOfOnesOwnHaveTheirTablesAndRounds) {
  const Words nets = {"bench", "nets", "mlp:hidden=8", "--batch", "4", "--rounds", "7"};
  EXPECT_TRUE(contains(succeed(with(nets, {"--sort", "images/s"})).out, "images/s"));
  const std::string csv = succeed(with(nets, {"--csv"})).out;
  EXPECT_TRUE(contains(csv, ",,\n") && !contains(csv, ",-,") && !contains(csv, ",-\n"))
      << "nothing was published of it: " << csv;
  const Json forward = succeed_json(nets).at("convnets")[0].at("separate_loops").at("forward");
  EXPECT_GE(forward.at("samples").get<int>() + forward.at("dropped").get<int>(), 7);
}

TEST_F(CliTables, EscapeCodesInNamesReachNoTerminal) {
  const std::string name = "a\\u001b[31mred\\u009b2J";
  put("net.json", R"({"input": [4], "layers": [{"type": "linear", "units": 3, "name": ")" + name + "\"}]}");
  for (const Words& words :
       {Words{"model", "show", "net.json"}, Words{"model", "show", "net.json", "--csv"},
        Words{"model", "show", "net.json", "--dot"}, Words{"model", "show", "net.json", "--json"}}) {
    const Outcome outcome = succeed(words);
    for (const char* code : {"\033", "\u009b"})
      EXPECT_FALSE(contains(outcome.out + outcome.err, code)) << fmt::format("{}", fmt::join(words, " "));
  }
  EXPECT_TRUE(contains(succeed({"model", "show", "net.json"}).out, "a\\x1b[31mred"));
  const Outcome missing = run({"model", "show", "\033[31mmissing.json"});
  EXPECT_TRUE(contains(missing.err, "\\x1b[31mmissing.json")) << missing.err;
}

TEST_F(CliTables, ShortRunsSayWhatIsKnown) {
  const std::string out = succeed({"train", "mlp:hidden=4", "--train-size", "64", "--test-size", "32",
                                   "--batch", "64", "--epochs", "1", "--threads", "1"})
                              .out;
  EXPECT_TRUE(contains(out, ", 1 sample\n")) << out;
  EXPECT_FALSE(contains(out, "10 to 90 %")) << "one sample has no spread\n" << out;
  EXPECT_TRUE(contains(out, "(1 thread)")) << out;
  EXPECT_FALSE(contains(out, "0 samples")) << out;
}

TEST_F(CliTables, PredictionsNameTheirRates) {
  const std::string images = succeed({"predict", "lenet5", "--machine", "h200"}).out;
  EXPECT_TRUE(contains(images, "images/s at the floor  images/s predicted")) << images;
  const std::string text = succeed({"predict", "gpt2:size=tiny", "--machine", "h200"}).out;
  EXPECT_TRUE(contains(text, "tokens/s at the floor  tokens/s predicted") && !contains(text, "images"))
      << text;
}

TEST_F(CliTables, ARecipeOfTheUserIsShownAndRun) {
  put("mine.json", succeed({"recipe", "show", "lenet5-glyphs"}).out);
  const Json ran = succeed_json({"recipe", "run", "mine.json", "--train-size", "256", "--test-size", "64"});
  EXPECT_EQ(ran.at("model"),
            succeed_json({"train", "--recipe", "mine.json", "--train-size", "256", "--test-size", "64"})
                .at("model"));
}

}  // namespace
}  // namespace headroom::testing
