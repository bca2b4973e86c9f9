// Ladders as users meet them: tables, picked rungs, explanations, JSON.
#include <gtest/gtest.h>

#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliLadder : ProgramTest {
  const Words kSmall = {"bench", "gemm", "--device", "cpu", "--m",       "31",
                        "--n",   "29",   "--k",      "37",  "--seconds", "0.01"};
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(CliLadder, EveryRungHasARowOrAReason) {
  const std::string out = succeed(kSmall).out;
  for (const char* part : {"31 x 29 x 37", "cpu:loops", "cpu:blocked", "cpu:vector", "cpu:threaded",
                           "cpu:blas", "% of roofline", "x before", "x first", "error"})
    EXPECT_TRUE(contains(out, part)) << part << "\n" << out;
  EXPECT_TRUE(contains(out, "Not run: cuda:threads_along_columns")) << out;
  EXPECT_TRUE(contains(out, "needs a GPU")) << out;
  EXPECT_FALSE(contains(out, "WRONG")) << out;
}

// One idea on top of the other, then each that changes the baseline by itself; picked rungs without the
// baseline have neither. Two rungs stand on cpu:threaded: the faster of them in this run ends the climb.
TEST_F(CliLadder, IdeasStandOnTopOfEachOtherAndAlone) {
  const std::string out = succeed(kSmall).out;
  std::size_t at = 0;
  for (const char* part : {"x baseline", "baseline: three loops", "cpu:blocked", "cpu:vector", "cpu:threaded",
                           "alone: three loops, all threads", "alone: loops turned around, vectors",
                           "alone: blocks that fit the cache"}) {
    at = out.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << "\n" << out;
  }
  EXPECT_FALSE(contains(succeed(with(kSmall, {"--rung", "cpu:vector,cpu:blas"})).out, "x baseline"));
  const std::string csv = succeed(with(kSmall, {"--csv"})).out;
  EXPECT_TRUE(contains(csv, "cpu:blocked,31 x 29 x 37,alone,")) << csv;
  EXPECT_NE(contains(csv, "cpu:blas,31 x 29 x 37,cumulative,"),
            contains(csv, "cpu:packed,31 x 29 x 37,cumulative,"))
      << csv;
}

// One column has as many results as rows; their check needs no more memory than the others'. A single result
// may be near zero, and its error is that of its terms all the same.
TEST_F(CliLadder, ThinProductsAreChecked) {
  for (const auto& [m, n, k] : {std::tuple("5000", "1", "500"), {"5000", "10", "500"}, {"20000", "1", "1"}}) {
    const std::string out =
        succeed({"bench", "gemm", "--m", m, "--n", n, "--k", k, "--rung", "cpu:packed", "--seconds", "0.01"})
            .out;
    EXPECT_FALSE(contains(out, "WRONG")) << out;
  }
  for (const char* seed : {"5", "19"})
    succeed({"bench", "gemm", "--m", "1", "--n", "1", "--k", "100000", "--seed", seed, "--rung",
             "cpu:loops,cpu:blocked,cpu:blas", "--seconds", "0.01"});
}

// Most of these results see padding alone and are zero: the others may err as ever.
TEST_F(CliLadder, ResultsOfPaddingDoNotJudgeTheOthers) {
  const std::string out = succeed({"bench", "conv2d", "--batch", "1", "--height", "8", "--padding", "40",
                                   "--rung", "reference,cpu:im2col_gemm", "--seconds", "0.01"})
                              .out;
  EXPECT_FALSE(contains(out, "WRONG")) << out;
}

TEST_F(CliLadder, JsonHasTheFigures) {
  const Json json = succeed_json(with(kSmall, {"--precision", "fp64", "--alpha", "2", "--beta", "5"}));
  const Json& ladder = json.at("ladders").at(0);
  EXPECT_EQ(ladder.at("beta"), 5.0);
  EXPECT_EQ(ladder.at("flops"), 2.0 * 31 * 29 * 37 + 3 * 31 * 29);
  int timed = 0;
  for (const Json& rung : ladder.at("rungs")) {
    if (rung.at("outcome") == "left out") {
      EXPECT_FALSE(rung.at("reason").get<std::string>().empty());
      continue;
    }
    ++timed;
    EXPECT_EQ(rung.at("outcome"), "timed");
    EXPECT_GT(rung.at("ms").at("median").get<double>(), 0);
    EXPECT_LT(rung.at("error").at("frobenius").get<double>(), 1e-14);
    EXPECT_GE(rung.at("work").at("flops").get<double>(), 2.0 * 31 * 29 * 37);
  }
  EXPECT_EQ(timed, 8);
}

TEST_F(CliLadder, RungsArePickedAndExplained) {
  const std::string out = succeed(with(kSmall, {"--rung", "cpu:vector,cpu:blas", "--explain"})).out;
  EXPECT_FALSE(contains(out, "cpu:loops  ")) << out;
  EXPECT_TRUE(contains(out, "cpu:vector: vectors and register tiles\n")) << out;
  EXPECT_TRUE(contains(out, "It reaches")) << "the first rung has none before it\n" << out;
  EXPECT_TRUE(contains(out, "times as fast")) << out;
  EXPECT_TRUE(contains(out, "to and from memory")) << out;
  EXPECT_FALSE(contains(out, "cuda:")) << out;
}

TEST_F(CliLadder, WorkloadsRunAllTheirSizes) {
  const Json json =
      succeed_json({"bench", "gemm", "--workload", "course", "--rung", "cpu:blas", "--seconds", "0.01"});
  ASSERT_EQ(json.at("ladders").size(), 2u);
  EXPECT_EQ(json.at("ladders")[0].at("problem"), "800 x 1000 x 784");
  EXPECT_EQ(json.at("ladders")[1].at("alpha"), 2.0);
}

TEST_F(CliLadder, DrawsTheTimes) {
  succeed(with(kSmall, {"--svg", "ladder.svg"}));
  const std::string svg = read_file(file("ladder.svg"));
  EXPECT_TRUE(contains(svg, "<svg") && contains(svg, "cpu:blas") && contains(svg, "floor")) << svg;
}

// A CPU's run is timed as ever; one line says why nothing was counted.
TEST_F(CliLadder, CountersNeedAGpuAndSaySo) {
  const Words words = with(kSmall, {"--rung", "cpu:blas", "--counters", "flops,memory"});
  const std::string out = succeed(words).out;
  EXPECT_TRUE(contains(out, "cpu:blas")) << out;
  EXPECT_TRUE(contains(out, "Counters: no counters: a ladder reads those of GPUs")) << out;
  EXPECT_FALSE(contains(out, "counted GFLOP")) << out;
  const Json ladder = succeed_json(words).at("ladders").at(0);
  EXPECT_EQ(ladder.at("counter_notes").size(), 1u);
  EXPECT_EQ(ladder.at("rungs").at(0).at("outcome"), "timed");
}

TEST_F(CliLadder, TablesFitEightyColumns) {
  const std::string out = succeed(with(kSmall, {"--width", "80"})).out;
  EXPECT_TRUE(contains(out, "At 80 columns without")) << out;
  EXPECT_TRUE(contains(out, "x first")) << out;
}

}  // namespace
}  // namespace headroom::testing
