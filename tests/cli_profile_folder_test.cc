// headroom profile -o: one folder holds one profile, and the record that --record would write.
#include "report/profile_files.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliProfileFolder : public ProgramTest {
 protected:
  const Words small_ = {"lenet5", "--data",  "glyphs", "--train-size", "640", "--test-size",
                        "64",     "--batch", "32"};
};

TEST_F(CliProfileFolder, AFinishedProfileWasNotInterrupted) {
  succeed(with(with({"profile"}, small_), {"--steps", "5", "-o", "p", "--report", "page.html"}));
  EXPECT_FALSE(read_profile(file("p")).record.training->interrupted);
  EXPECT_EQ(read_file(file("p/record.json")).find("interrupted"), std::string::npos);
  EXPECT_EQ(read_file(file("page.html")).find("stopped early"), std::string::npos);
}

TEST_F(CliProfileFolder, TheFolderHoldsTheRecordThatCanBeNamed) {
  succeed(with(with({"profile"}, small_), {"--steps", "5", "-o", "p", "--record", "r.json"}));
  EXPECT_EQ(Json::parse(read_file(file("p/record.json"))), Json::parse(read_file(file("r.json"))));
  const RunProfile profile = read_profile(file("p"));
  ASSERT_TRUE(profile.record.training);
  EXPECT_FALSE(profile.record.training->losses.empty());

  succeed({"train", "lenet5", "--train-size", "640", "--test-size", "64", "--epochs", "1", "--profile", "t",
           "--record", "t.json"});
  const Json folder = Json::parse(read_file(file("t/record.json"))),
             named = Json::parse(read_file(file("t.json")));
  for (const char* key : {"progress", "samples", "curve", "plan"})
    EXPECT_EQ(folder.at(key), named.at(key)) << key;
}

// A table of counters is not of a run that did not count.
TEST_F(CliProfileFolder, AFolderHoldsOneProfile) {
  const auto run_into = [&](const Words& more) {
    return run(with(with({"profile"}, small_), with({"--steps", "3", "-o", "p"}, more)));
  };
  EXPECT_EQ(run_into({"--energy"}).code, 0);
  put("p/tables/layer_counters.csv", "layer\nof another run\n");
  put("p/notes.txt", "mine");
  const std::string before = read_file(file("p/record.json"));
  EXPECT_EQ(run_into({"--open", "no-such-layer"}).code, 2);
  EXPECT_EQ(read_file(file("p/record.json")), before) << "a run without a result";
  EXPECT_TRUE(std::filesystem::exists(file("p/tables/layer_counters.csv")));
  EXPECT_EQ(run_into({"--sample-ms", "0"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(file("p/tables/layer_counters.csv")));
  EXPECT_FALSE(std::filesystem::exists(file("p/samples.csv")));
  EXPECT_EQ(read_file(file("p/notes.txt")), "mine");
}

}  // namespace
}  // namespace headroom::testing
