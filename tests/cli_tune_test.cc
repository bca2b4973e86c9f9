// headroom tune, and the records of verbs that do not train.
#include "base/json.h"
#include "report/record.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliTune : public ProgramTest {
 protected:
  void put_table(const std::string& lines) const { temporary_.put("cache/tuning.jsonl", lines); }
};

constexpr const char* kWinner =
    R"({"problem": "conv2d 1,2", "kernel": "cudnn", "device": "a GPU", "libraries": "cuDNN 9",)"
    R"( "variant": "heuristic_1", "us": 12.5, "candidates_us": {"heuristic_0": 14.0, "heuristic_1": 12.5}})"
    "\n";

TEST_F(CliTune, ListsTheTableWithItsPath) {
  EXPECT_NE(succeed({"tune", "--list"}).out.find("0 winners in"), std::string::npos);
  put_table(kWinner);
  const std::string text = succeed({"tune", "--list"}).out;
  for (const char* part : {"heuristic_1", "12.5 us", "heuristic_0 14.0 us", "a GPU", "tuning.jsonl"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const Json json = succeed_json({"tune", "--list"});
  EXPECT_EQ(json.at("winners").at(0).at("variant"), "heuristic_1");
  const std::string csv = succeed({"tune", "--list", "--csv"}).out;
  EXPECT_NE(csv.find("\"conv2d 1,2\",cudnn,heuristic_1,"), std::string::npos) << csv;
}

TEST_F(CliTune, ADamagedTableIsIgnoredWithAWarning) {
  put_table(std::string(kWinner) + "damaged\n");
  const Outcome outcome = succeed({"tune", "--list"});
  EXPECT_NE(outcome.err.find("1 line could not be read"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("1 winner in"), std::string::npos) << outcome.out;
}

TEST_F(CliTune, OnACpuThereIsNothingToChooseAmong) {
  EXPECT_NE(succeed({"tune", "lenet5", "--batch", "4"}).out.find("no kernel"), std::string::npos);
  EXPECT_EQ(run({"tune"}).code, 2);
  EXPECT_EQ(run({"tune", "lenet5", "--mode", "sleep"}).code, 2);
  EXPECT_EQ(run({"tune", "lenet5", "--deterministic"}).code, 2);
}

// eval, run and bench write the record that train writes, as far as they have its parts.
TEST_F(CliTune, EveryVerbThatMeasuresWritesARecord) {
  const std::string weights = file("w.safetensors").string(), kept = file("r.json").string();
  succeed({"train", "mlp:hidden=16", "--train-size", "256", "--test-size", "64", "--save", weights});
  succeed({"eval", "mlp:hidden=16", "--weights", weights, "--test-size", "64", "--record", kept});
  const RunRecord eval = read_record(kept);
  EXPECT_EQ(eval.verb, "eval");
  ASSERT_TRUE(eval.plan && eval.measurement);
  EXPECT_EQ(eval.plan->mode, "eval");
  EXPECT_EQ(eval.measurement->steps.size(), eval.plan->steps.size());
  EXPECT_FALSE(eval.training);

  succeed({"bench", "forward", "mlp:hidden=16", "--batch", "4", "--seconds", "0.01", "--record", kept});
  const RunRecord bench = read_record(kept);
  EXPECT_EQ(bench.verb, "bench forward");
  ASSERT_EQ(bench.tables.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(bench.tables[0].at(0, "batch")), 4);
}

}  // namespace
}  // namespace headroom::testing
