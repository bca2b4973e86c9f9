// CPU kernels of several levels in one program: which of them run, and on which processors.
#include "support/program.h"

#include "base/json.h"
#include "base/text.h"
#include "device/cpu/levels.h"

namespace headroom::testing {
namespace {

class CliLevels : public ProgramTest {
 protected:
  static Words tiny_training() {
    return {"train", "mlp:hidden=4", "--train-size", "64", "--test-size", "32", "--epochs", "1"};
  }
};

TEST_F(CliLevels, DoctorTellsWhatWasBuiltFoundAndUsed) {
  const Json cpu = succeed_json({"doctor"}).at("cpu");
  EXPECT_EQ(cpu.at("levels_built"), Json(cpu_level_names()));
  EXPECT_EQ(cpu.at("level_found"), processor_level());
  EXPECT_EQ(cpu.at("level_used"), used_cpu_level().name);
  EXPECT_NE(succeed({"--version"}).out.find(cpu_levels_text()), std::string::npos);
  for (const CpuLevel& level : cpu_levels()) {
    if (!level.here) continue;
    const Json doctor = succeed_json({"doctor"}, {{"HEADROOM_LEVEL", std::string(level.name)}});
    for (const Json& check : doctor.at("checks"))
      if (check.at("name") == "CPU kernels") {
        EXPECT_EQ(check.at("state"),
                  level.name == processor_level() || cpu_levels().size() == 1 ? "ok" : "poor")
            << check;
      }
  }
}

TEST_F(CliLevels, ALowerOneRunsByName) {
  for (const CpuLevel& level : cpu_levels()) {
    if (!level.here) continue;
    const Environment named = {{"HEADROOM_LEVEL", std::string(level.name)}};
    EXPECT_EQ(succeed_json({"doctor"}, named).at("cpu").at("level_used"), level.name);
    Words words = tiny_training();
    words.insert(words.end(), {"--kernel", fmt::format("cpu={}", level.name)});
    succeed(words);
  }
}

TEST_F(CliLevels, OneThatIsNotBuiltIsRefused) {
  const std::string built = fmt::format("it has: {}", fmt::join(cpu_level_names(), ", "));
  expect_refused({"doctor"}, {"HEADROOM_LEVEL", "level 'v9'", "unset HEADROOM_LEVEL", built},
                 {{"HEADROOM_LEVEL", "v9"}});
  Words words = tiny_training();
  words.insert(words.end(), {"--kernel", "cpu=v9"});
  expect_refused(words, {"no CPU kernels of level 'v9'", built});
}

// An inline function of a level must not replace the one that other processors run.
TEST_F(CliLevels, ShowTheLinkerNothingButTheirList) {
  int found = 0;
  for (const std::string_view level : cpu_level_names()) {
    const std::filesystem::path object =
        std::filesystem::path(HEADROOM_PROGRAM).parent_path() / fmt::format("level_{}.o", level);
    if (!std::filesystem::exists(object)) continue;
    const Outcome names = finish(
        start_any({"/usr/bin/env", "nm", "-C", "--defined-only", "--extern-only", object.string()}, {}));
    ASSERT_EQ(names.code, 0) << names.err;
    std::vector<std::string> lines;
    for (const std::string& line : split(names.out, '\n'))
      if (!line.empty()) lines.push_back(line);
    ASSERT_EQ(lines.size(), 1U) << fmt::format("{}", fmt::join(lines, "\n"));
    EXPECT_TRUE(lines[0].ends_with(fmt::format("T headroom::level_operators::{}()", level))) << lines[0];
    ++found;
  }
  if (found == 0) GTEST_SKIP() << "this program has only one level";
}

// Processors of 2008 and 2013, emulated.
struct Emulated {
  const char *processor, *level, *higher;
};
class CliLevelsEmulated : public CliLevels, public ::testing::WithParamInterface<Emulated> {};

TEST_P(CliLevelsEmulated, TheProgramTakesTheHighestThatTheProcessorHas) {
  const auto& [processor, level, higher] = GetParam();
  const std::string emulator = "/usr/bin/qemu-x86_64";
  if (!std::filesystem::exists(emulator)) GTEST_SKIP() << "no " << emulator << " here (package qemu-user)";
  if (cpu_level_names().front() != "v2") GTEST_SKIP() << "this program was built for one processor";
  const auto run_emulated = [&](Words words) {
    words.insert(words.begin(), {emulator, "-cpu", processor, HEADROOM_PROGRAM});
    return finish(start_any(words, {}));
  };
  const Outcome doctor = run_emulated({"doctor", "--json"});
  ASSERT_EQ(doctor.code, 0) << doctor.err;
  const Json cpu = Json::parse(doctor.out).at("cpu");
  EXPECT_EQ(cpu.at("level_found"), level);
  std::string_view best = "v2";
  for (const std::string_view name : cpu_level_names())
    if (name <= level) best = name;
  EXPECT_EQ(cpu.at("level_used"), best);

  Words words = tiny_training();
  words.insert(words.end(), {"--threads", "1"});
  know_machine(1);
  const Outcome training = run_emulated(words);
  EXPECT_EQ(training.code, 0) << training.err;

  const std::vector<std::string_view> built = cpu_level_names();
  if (std::ranges::count(built, higher) == 0) return;
  words.insert(words.end(), {"--kernel", fmt::format("cpu={}", higher)});
  const Outcome refused = run_emulated(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find(fmt::format("the highest level it has is {}", level)), std::string::npos)
      << refused.err;
}

INSTANTIATE_TEST_SUITE_P(All, CliLevelsEmulated,
                         ::testing::Values(Emulated{"Nehalem", "v2", "v4"}, Emulated{"Haswell", "v3", "v4"}),
                         [](const auto& test) { return std::string(test.param.processor); });

// Vectors of SVE are as long as the processor makes them.
class CliSve : public CliLevels, public ::testing::WithParamInterface<int> {};

TEST_P(CliSve, MultipliesWhereVectorsAreLongerThanThoseOfNeon) {
#if !defined(__aarch64__)
  GTEST_SKIP() << "SVE is an extension of Arm";
#endif
  const std::string emulator = "/usr/bin/qemu-aarch64";
  if (!std::filesystem::exists(emulator)) GTEST_SKIP() << "no " << emulator << " here (package qemu-user)";
  know_machine(1);
  const auto run_emulated = [&](Words words) {
    const int bits = GetParam();
    const std::string processor = bits == 0 ? "neoverse-n1" : fmt::format("max,sve{}=on", bits);
    words.insert(words.begin(), {emulator, "-cpu", processor, HEADROOM_PROGRAM});
    const Outcome outcome = finish(start_any(words, {}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out) : Json();
  };
  EXPECT_EQ(run_emulated({"doctor", "--json"}).at("cpu").at("gemm_tile"), GetParam() > 128 ? "sve" : "neon");
  Words words = tiny_training();
  words.insert(words.end(), {"--threads", "1", "--json"});
  const double here = succeed_json(words).at("test_loss").get<double>();
  EXPECT_NEAR(run_emulated(words).at("test_loss").get<double>(), here, 1e-4 * here);
}

INSTANTIATE_TEST_SUITE_P(Bits, CliSve, ::testing::Values(0, 128, 256, 512));

}  // namespace
}  // namespace headroom::testing
