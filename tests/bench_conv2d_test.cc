// headroom bench conv2d, from the user's side.
#include "base/json.h"
#include "report/record.h"
#include "report/testing/xml_check.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

using BenchConv2d = ProgramTest;

TEST_F(BenchConv2d, ClimbsALayerOfAnyShapeAndItsGradients) {
  const Json json =
      succeed_json({"bench",     "conv2d",  "--batch",   "3",      "--channels", "4",        "--height",
                    "9",         "--width", "8",         "--maps", "6",          "--kernel", "3",
                    "--stride",  "2",       "--padding", "1",      "--groups",   "2",        "--backward",
                    "--seconds", "0.01",    "--device",  "cpu",    "--threads",  "2"});
  ASSERT_EQ(json.at("ladders").size(), 3u);
  EXPECT_EQ(json.at("ladders")[2].at("pass"), "weight gradient");
  for (const Json& ladder : json.at("ladders")) {
    int timed = 0, needs_gpu = 0;
    for (const Json& rung : ladder.at("rungs")) {
      timed += rung.at("outcome") == "timed" ? 1 : 0;
      needs_gpu +=
          rung.contains("reason") && rung.at("reason").get<std::string>().starts_with("needs a GPU") ? 1 : 0;
      if (rung.at("outcome") == "timed") {
        EXPECT_LT(rung.at("error").at("frobenius").get<double>(), 1e-6);
      }
    }
    EXPECT_GE(timed, 2);
    EXPECT_GE(needs_gpu, 25);
  }
}

// A rung climbs the passes that have it. One that refuses says why, and only if all do there is nothing to
// show.
TEST_F(BenchConv2d, PicksRungsFromAnyOfThePasses) {
  const Words layer = {"bench",     "conv2d",   "--device",   "cpu",    "--batch",   "2",        "--channels",
                       "3",         "--height", "9",          "--maps", "4",         "--kernel", "3",
                       "--padding", "1",        "--backward", "--json", "--seconds", "0.01"};
  const auto passes = [&](const std::string& rungs) {
    std::string text;
    const Json json = succeed_json(with(layer, {"--rung", rungs}));
    for (const Json& ladder : json.at("ladders")) {
      text += ladder.at("pass").get<std::string>() + ":";
      for (const Json& rung : ladder.at("rungs"))
        if (rung.at("outcome") == "timed") text += " " + rung.at("rung").get<std::string>();
      text += "; ";
    }
    return text;
  };
  EXPECT_EQ(passes("cpu:map_lanes,cpu:pixel_lanes"),
            "forward: cpu:pixel_lanes; input gradient: cpu:pixel_lanes; weight gradient:; ");
  expect_refused(with(layer, {"--rung", "cpu:map_lanes"}), {"maps leave most lanes of a register idle"});
}

TEST_F(BenchConv2d, ShowsBothLayersOfTheCourseBesidePublishedTimes) {
  const Outcome outcome =
      succeed({"bench", "conv2d", "--images", "100", "--rung", "cpu:im2col_gemm,cpu:pixel_lanes", "--seconds",
               "0.05", "--explain", "--svg", "c.svg", "--record", "r.json", "--device", "cpu"});
  for (const char* part :
       {"conv1: 100x1x72x72, 12 maps of 7x7: 512 MFLOP", "conv2: 100x12x33x33, 24 maps of 7x7: 2.06 GFLOP",
        "basic GPU, 16x16 blocks", "1.654", "the output is zeroed", "No matrix is stored"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  for (const char* name : {"c-conv1-forward.svg", "c-conv2-forward.svg"}) {
    const std::string picture = read_file(folder() / name);
    EXPECT_EQ(xml_problem(picture), "");
    EXPECT_NE(picture.find("cpu:pixel_lanes"), std::string::npos);
  }
  EXPECT_EQ(read_record(folder() / "r.json").verb, "bench conv2d");
}

TEST_F(BenchConv2d, ListsASweepThatNeedsAGpu) {
  const Outcome outcome =
      succeed({"bench", "conv2d", "--batch", "2", "--rung", "cpu:im2col_gemm", "--seconds", "0.01", "--sweep",
               "--blocks", "8,16", "--coarsen", "1,2", "--svg", "s.svg", "--device", "cpu"});
  EXPECT_NE(outcome.out.find("block=16,coarsen=2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("needs a GPU"), std::string::npos) << outcome.out;
  EXPECT_EQ(xml_problem(read_file(folder() / "s-layer-sweep.svg")), "");
  const Outcome csv =
      succeed({"bench", "conv2d", "--batch", "2", "--rung", "cpu:im2col_gemm", "--seconds", "0.01", "--csv"});
  EXPECT_TRUE(csv.out.starts_with("rung,problem,idea,ms,")) << csv.out;
}

}  // namespace
}  // namespace headroom::testing
