// headroom profile on a GPU: captured steps, tied to layers, with the same results as without.
#include <cmath>

#include "report/counter_sheets.h"
#include "report/gpu_sample_sheets.h"
#include "report/profile_files.h"
#include "report/tuning_sheet.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CudaProfile : public ProgramTest {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    ProgramTest::SetUp();
  }
  RunProfile profile(const Words& words) const {
    succeed(with(with({"profile"}, words), {"--device", "cuda", "-o", "p"}));
    return read_profile(file("p"));
  }
};

// Kernels that feed the network belong to no layer; everything in the captured step does.
void expect_all_kernels_have_a_step(const Trace& trace) {
  int captured = 0;
  for (const Trace::Kernel& k : trace.kernels) {
    if (k.graph_node == 0) continue;
    ++captured;
    EXPECT_GE(k.step, 0) << trace.text(k.name);
  }
  EXPECT_GT(captured, 0);
}

TEST_F(CudaProfile, EveryKernelOfACapturedStepHasALayer) {
  for (const Words& model : {Words{"lenet5"}, Words{"vit:width=64,depth=2,heads=2"}, Words{"mlp"}}) {
    const RunProfile p =
        profile(with(model, {"--data", "glyphs", "--train-size", "2000", "--test-size", "64"}));
    ASSERT_FALSE(p.trace.windows.empty()) << model[0];
    EXPECT_TRUE(p.trace.windows[0].captured);
    expect_all_kernels_have_a_step(p.trace);
    const StepParts parts = step_parts(p.trace);
    EXPECT_NEAR(parts.sum(), parts.step, 0.01 * parts.step);
    EXPECT_EQ(p.trace.dropped, 0);
  }
}

TEST_F(CudaProfile, KernelsOfALargeNetworkAddUpToTheStep) {
  const RunProfile p = profile({"vgg:depth=11,width=0.5,classes=10", "--data", "glyphs", "--train-size",
                                "640", "--test-size", "64", "--batch", "32", "--steps", "8"});
  double kernels = 0;
  for (const Measurement::Step& step : p.record.measurement->steps) kernels += step.spread().median;
  const StepParts parts = step_parts(p.trace);
  EXPECT_NEAR(kernels, parts.step, 0.03 * parts.step);
}

TEST_F(CudaProfile, WeightsHaveTheSameBitsWithAndWithout) {
  const Words train = {"train",    "lenet5", "--train-size", "6400", "--test-size",    "64",
                       "--epochs", "1",      "--device",     "cuda", "--deterministic"};
  succeed(with(train, {"--save", "plain.safetensors"}));
  succeed(with(train, {"--save", "watched.safetensors", "--profile", "p"}));
  EXPECT_EQ(read_file(file("plain.safetensors")), read_file(file("watched.safetensors")));
  EXPECT_FALSE(read_profile(file("p")).trace.kernels.empty());
}

TEST_F(CudaProfile, StepByStepAndStreamedRunsCanBeWatched) {
  const RunProfile p = profile({"lenet5", "--data", "glyphs", "--train-size", "2000", "--test-size", "64",
                                "--no-graph", "--no-resident"});
  const StepParts parts = step_parts(p.trace);
  EXPECT_GT(parts.compute, 0);
  EXPECT_GT(parts.launch + parts.host + parts.synchronisation, 0) << "the host waits for every step";
  bool up = false;
  for (const Trace::Copy& copy : p.trace.copies) up |= copy.kind == Trace::CopyKind::host_to_device;
  EXPECT_TRUE(up);
}

// One step for each of the two passes, after those that are watched.
TEST_F(CudaProfile, CountersComeByLayerAndByKernel) {
  const RunProfile p = profile(
      {"lenet5", "--data", "glyphs", "--train-size", "4000", "--test-size", "64", "--counters", "seed"});
  for (const std::string& note : p.trace.notes)
    if (note.starts_with("no counters")) GTEST_SKIP() << note;
  double counted = 0;
  for (const Measurement::Step& step : p.record.measurement->steps) {
    if (step.launches.empty()) continue;
    ASSERT_TRUE(step.counters.contains("1:cycles") && step.counters.contains("2:branches"));
    EXPECT_GT(step.counters.at("1:instructions"), 0);
    counted += 1e-9 * step.counters.at("1:time");
  }
  EXPECT_GT(counted, 0);
  const Sheet kernels = kernel_counters_sheet(p.record), tuning = tuning_sheet(p.record);
  EXPECT_TRUE(kernels.has_column("occupancy_percent"));
  EXPECT_GT(tuning.rows(), 0u);
  EXPECT_GT(layer_counters_sheet(p.record).rows(), 1u);
}

TEST_F(CudaProfile, SamplesOfCountersComeByLayerAndOverTheStep) {
  const RunProfile p = profile({"vgg:depth=11,width=0.5,classes=10", "--data", "glyphs", "--train-size",
                                "640", "--test-size", "64", "--batch", "32", "--pm-sampling"});
  for (const std::string& note : p.trace.notes)
    if (note.starts_with("no samples over time")) GTEST_SKIP() << note;
  const Sheet *layers = find_table(p.record, kSampledLayers), *step = find_table(p.record, kSampledStep);
  ASSERT_TRUE(layers != nullptr && step != nullptr);
  const std::size_t last = layers->rows() - 1;
  const auto of_step = [&](const char* key) { return std::get<double>(layers->at(last, key)); };
  double sum = 0;  // two kernels at once count twice
  for (std::size_t row = 0; row < last; ++row) sum += std::get<double>(layers->at(row, "ms"));
  EXPECT_GE(sum, 0.99 * of_step("ms"));
  EXPECT_GT(of_step("sm_percent"), 10);
  EXPECT_LE(of_step("sm_percent"), 100.5);
  EXPECT_GT(of_step("dram_gbytes_per_s"), 1);
  EXPECT_GT(step->rows(), 100u);
}

// Needs no right to count. A driver or a GPU that does not tell is said.
TEST_F(CudaProfile, NvmlTellsTheUseOfTheGpu) {
  const auto device = open_device("cuda");
  const Buffer a = device->allocate(std::size_t{1} << 30), b = device->allocate(a.bytes());
  std::string why_not;
  const auto use = measure_gpm(
      "cuda:0",
      [&] {
        const std::int64_t end = spans::now_ns() + 1'000'000'000;
        while (spans::now_ns() < end) {
          device->copy(a.data(), b.data(), a.bytes());
          device->stream().synchronize();
        }
      },
      why_not);
  if (!use) GTEST_SKIP() << why_not;
  ASSERT_TRUE(use->dram && use->sm);
  EXPECT_GT(*use->dram, 20) << "copies are bound by DRAM";
  EXPECT_LE(*use->dram, 100);
}

TEST_F(CudaProfile, ALaunchCardShowsOccupancy) {
  const Outcome outcome = succeed({"profile", "lenet5", "--data", "glyphs", "--train-size", "2000",
                                   "--test-size", "64", "--device", "cuda", "--card", "update_all"});
  for (const char* part : {"grid", "block", "registers", "occupancy"})
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part << outcome.out;
}

}  // namespace
}  // namespace headroom::testing
