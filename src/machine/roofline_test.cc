#include "machine/roofline.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "device/device.h"
#include "machine/timing.h"
#include "ops/cpu/gemm.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kFullSpeed = true;
#else
constexpr bool kFullSpeed = false;
#endif

std::vector<std::string> stages;

// Measured once for all tests of this file.
const Machine& measured() {
  static const Machine machine =
      measure_cpu(0, 0.5, [](const std::string& stage) { stages.push_back(stage); });
  return machine;
}

TEST(Roofline, MeasuresEveryCeiling) {
  const Machine& machine = measured();
  EXPECT_EQ(machine.name, "here");
  EXPECT_EQ(machine.kind, "cpu");
  EXPECT_TRUE(machine.measured);
  EXPECT_EQ(machine.cores, omp_get_num_procs());
  EXPECT_EQ(machine.memory().name, "memory");
  EXPECT_GE(stages.size(), 3u);
  EXPECT_GT(machine.launch.host_s, 1e-9);
  if (machine.doubt.empty())
    EXPECT_EQ(machine.team_s.size(), std::bit_width(static_cast<unsigned>(machine.cores)) - 1u);
  else
    EXPECT_TRUE(machine.team_s.empty()) << machine.doubt;
  for (const char* precision : {"fp32", "fp64"}) {
    EXPECT_GT(machine.one_core_peak_flops.at(precision), 1e8);
    EXPECT_GE(machine.peak_flops.at(precision), machine.one_core_peak_flops.at(precision));
  }
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Machine::Level& level = machine.levels[i];
    EXPECT_GT(level.one_core_bytes_per_s, 1e8) << level.name;
    EXPECT_GE(level.bytes_per_s, level.one_core_bytes_per_s) << level.name;
    if (i == 0) continue;
    EXPECT_GT(level.bytes, machine.levels[i - 1].bytes) << level.name;
    EXPECT_LE(level.bytes_per_s, machine.levels[i - 1].bytes_per_s) << level.name;
  }
}

TEST(Roofline, SinglePrecisionIsTwiceAsFast) {
  if (!kFullSpeed) GTEST_SKIP() << "the loops are not themselves in this build";
  const auto& peaks = measured().one_core_peak_flops;
  const double ratio = peaks.at("fp32") / peaks.at("fp64");
  EXPECT_GT(ratio, 1.5);
  EXPECT_LT(ratio, 2.5);
}

// The engine's own GEMM must stay below the ceiling; the first version of this loop failed that.
TEST(Roofline, MatrixProductsDoNotBeatIt) {
  if (!kFullSpeed) GTEST_SKIP() << "the loops are not themselves in this build";
  constexpr std::int64_t kSide = 512;
  const std::vector<float> a(kSide * kSide, 1), b(kSide * kSide, 1);
  std::vector<float> c(kSide * kSide);
  const double seconds = undisturbed_seconds(0.05, Clock::wall, [&](std::int64_t passes) {
    const double begin = now_s();
    for (std::int64_t p = 0; p < passes; ++p)
      gemm(false, false, kSide, kSide, kSide, 1.0f, a.data(), kSide, b.data(), kSide, 0.0f, c.data(), kSide);
    return now_s() - begin;
  });
  const double reached = 2.0 * kSide * kSide * kSide / seconds / measured().peak_flops.at("fp32");
  EXPECT_LT(reached, 1.02);
  RecordProperty("share_of_peak", std::to_string(reached));
}

TEST(Roofline, ThreadsAreFreeAgainAfterwards) {
  measured();
  const int cpus = omp_get_num_procs();
  int least = cpus;
#pragma omp parallel reduction(min : least)
  {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    least = CPU_COUNT(&set);
  }
  EXPECT_EQ(least, cpus);
}

TEST(Roofline, SurvivesBeingWritten) {
  const Machine& machine = measured();
  const Json json = to_json(machine);
  EXPECT_EQ(to_json(machine_from_json(Json::parse(json.dump()), "here")), json);
}

TEST(Roofline, TwoMeasurementsKeepTheHigherOfEach) {
  Machine low = measured(), high = measured();
  low.team_s = high.team_s = {1e-6, 2e-6};
  low.peak_flops["fp32"] /= 2;
  low.launch.host_s *= 3;
  for (double& cost : low.team_s) cost *= 2;
  high.levels[0].bytes_per_s /= 4;
  Machine both = measured();
  both.team_s = high.team_s;
  EXPECT_EQ(to_json(higher_ceilings(low, high)), to_json(both));
  low.team_s.clear();
  EXPECT_EQ(higher_ceilings(low, high).team_s, high.team_s) << "not measured this time";
}

// Threads that take turns on a CPU each look fast by their own clock.
TEST(Roofline, MoreThreadsThanCpusAreNotFaster) {
  if (!kFullSpeed) GTEST_SKIP() << "the loops are not themselves in this build";
  const Machine& usual = measured();
  const Machine crowded = measure_cpu(16 * usual.cores, 0.5, {});
  EXPECT_LT(crowded.peak_flops.at("fp32"), 1.5 * usual.peak_flops.at("fp32"));
  EXPECT_LT(crowded.levels[0].bytes_per_s, 2 * usual.levels[0].bytes_per_s);
  EXPECT_NE(crowded.doubt.find("share"), std::string::npos) << crowded.doubt;
}

TEST(Roofline, NonsenseIsRefused) {
  EXPECT_THROW(measure_cpu(-1, 1, {}), Error);
  EXPECT_THROW(measure_cpu(1, 0, {}), Error);
}

TEST(Roofline, HereIsMeasuredOnceAndKept) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("headroom_here_{}", ::getpid());
  fs::remove_all(folder);
  ::setenv("HEADROOM_CACHE", folder.c_str(), 1);
  Machine known = measured();
  known.notes = {"saved"};
  save_machine(known);
  EXPECT_EQ(here_or_measure(0, 0.05).notes, known.notes);

  // Another processor, then a damaged file: measured again and saved.
  known.title = "Z80, 1 thread";
  save_machine(known);
  EXPECT_EQ(here_or_measure(0, 0.05).cores, cpu_capabilities().threads);
  std::ofstream(machine_file("here")) << "{";
  const Machine again = here_or_measure(0, 0.05);
  const std::string title = again.title;
  if (!again.doubt.empty()) {  // this machine is busy: nothing is kept
    EXPECT_THROW(find_machine("here"), Error);
    save_machine(again);
  }
  EXPECT_EQ(find_machine("here").title, title);

  // Another number of threads has its own ceilings, which do not replace these.
  const int more = cpu_capabilities().threads + 1;
  EXPECT_EQ(here_or_measure(more, 0.05).cores, more);
  EXPECT_EQ(find_machine("here").title, title);

  // Nor does a run that an affinity mask leaves fewer CPUs than the saved one had.
  Machine wider = measured();
  wider.cores = cpu_capabilities().threads + 6;
  wider.title = fmt::format("{}, {} threads", cpu_capabilities().name, wider.cores);
  save_machine(wider);
  EXPECT_EQ(here_or_measure(0, 0.05).cores, cpu_capabilities().threads);
  EXPECT_EQ(find_machine("here").title, wider.title);
  EXPECT_NE(here_or_measure(wider.cores, 0.05).doubt, "") << "more threads than CPUs";
  ::unsetenv("HEADROOM_CACHE");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace headroom
