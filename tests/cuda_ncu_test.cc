// Our counters beside NVIDIA's own: one kernel of a ladder under `ncu`, which replays it, and under
// `--counters`, which counts a run of it.
#include "support/program.h"

namespace headroom::testing {
namespace {

class CudaNcu : public ProgramTest {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    ProgramTest::SetUp();
    if (run_shell("command -v ncu").code != 0) GTEST_SKIP() << "no ncu here: it comes with the CUDA toolkit";
  }
};

// The last column of the first row that names the metric, without the commas between thousands.
double value_of(const std::string& csv, const std::string& metric) {
  const std::size_t named = csv.find('"' + metric + '"');
  if (named == std::string::npos) return -1;
  std::string number;
  const std::size_t end = csv.find('\n', named), begin = csv.rfind(",\"", end) + 2;
  for (std::size_t i = begin; i < end && csv[i] != '"'; ++i)
    if (csv[i] != ',') number += csv[i];
  return std::stod(number);
}

// Counts of instructions do not depend on clocks, caches or what else runs.
TEST_F(CudaNcu, CountsTheInstructionsThatWeCount) {
  const std::map<std::string, std::string> metrics = {
      {"instructions", "smsp__inst_executed.sum"},
      {"global-loads", "smsp__inst_executed_op_global_ld.sum"},
      {"global-stores", "smsp__inst_executed_op_global_st.sum"},
      {"fp32-fma", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}};
  std::string asked;
  for (const auto& [ours, theirs] : metrics) asked += (asked.empty() ? "" : ",") + theirs;
  for (const std::string rung : {"register_tiles", "async_tiles", "block_64x16"}) {
    const Words climb = {"bench", "gemm", "--device", "cuda",   "--m",          "500",       "--n",
                         "300",   "--k",  "200",      "--rung", "cuda:" + rung, "--seconds", "0.05"};
    const Outcome theirs = run_shell(fmt::format(
        "ncu --clock-control none --csv --metrics {} --kernel-name regex:{} --launch-count 1 \"$0\" {}",
        asked, rung, fmt::join(climb, " ")));
    if (theirs.out.find("ERR_NVGPUCTRPERM") != std::string::npos) GTEST_SKIP() << "counters are forbidden";
    ASSERT_EQ(theirs.code, 0) << theirs.out << theirs.err;
    const Json rungs = succeed_json(with(climb, {"--counters", "seed,flops"})).at("ladders")[0].at("rungs");
    ASSERT_TRUE(rungs[0].contains("counted")) << rungs[0];
    const Json& counted = rungs[0].at("counted").at("counters");
    for (const auto& [ours, metric] : metrics) {
      const double want = value_of(theirs.out, metric);
      std::size_t found = 0;
      for (const auto& [name, value] : counted.items()) {
        if (!name.ends_with(":" + ours)) continue;  // "1:instructions": of the first pass
        ++found;
        EXPECT_NEAR(value.get<double>(), want, 0.02 * want) << rung << " " << name;
      }
      EXPECT_GT(found, 0u) << rung << " " << ours << " " << counted;
      EXPECT_GE(want, ours == "global-loads" ? 1 : 0) << rung << " " << metric << "\n" << theirs.out;
    }
  }
}

}  // namespace
}  // namespace headroom::testing
