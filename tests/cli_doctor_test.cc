// headroom doctor: what is installed, what is missing, how to get it.
#include "support/program.h"

#include <chrono>

#include "base/json.h"
#include "data/download.h"
#include "data/image.h"
#include "device/cpu/extension_names.h"
#include "device/cpu/matrix_units.h"
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/gemm_tile.h"
#include "ops/cpu/int8_tile.h"

namespace headroom::testing {
namespace {

class CliDoctor : public ProgramTest {
 protected:
  // The checks by name.
  std::map<std::string, Json> checks(const Words& more = {}, const Environment& environment = {}) const {
    Words words = {"doctor"};
    words.insert(words.end(), more.begin(), more.end());
    std::map<std::string, Json> all;
    const Json json = succeed_json(words, environment);
    for (const Json& check : json.at("checks")) all[check.at("name")] = check;
    return all;
  }
};

TEST_F(CliDoctor, TellsWhatIsHere) {
  const Json json = succeed_json({"doctor"});
  const Capabilities cpu = cpu_capabilities();
  EXPECT_EQ(json.at("cpu").at("name"), cpu.name);
  EXPECT_EQ(json.at("cpu").at("threads"), cpu.threads);
  EXPECT_EQ(json.at("gpus").size(), survey_gpus().gpus.size());
  EXPECT_EQ(json.at("cuda").at("built_in"), !survey_gpus().runtime.empty());
  const auto all = checks();
  EXPECT_EQ(all.at("PNG pictures").at("state"), has_png() ? "ok" : "missing");
  EXPECT_EQ(all.at("JPEG pictures").at("state"), has_jpeg() ? "ok" : "missing");
  EXPECT_EQ(all.at("downloads").at("state"), can_download() ? "ok" : "missing");
  EXPECT_TRUE(all.contains("MPI (ranks)"));
  EXPECT_EQ(all.at("data set glyphs").at("state"), "ok");
  EXPECT_EQ(all.at("machine 'here'").at("state"), "ok");  // every test has a made-up one
  for (const char* name : {"cuBLASLt", "cuDNN", "NCCL", "CUPTI", "NVML"})
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& item) {
      return item.first.starts_with(name);
    })) << name;
}

TEST_F(CliDoctor, TellsHowToGetWhatIsMissing) {
  for (const auto& [name, check] : checks()) {
    EXPECT_EQ(check.contains("try"), check.at("state") != "ok") << name;
    EXPECT_FALSE(check.at("details").get<std::string>().empty()) << name;
  }
  const auto missing = checks({"--data-dir", file("nowhere").string()}).at("data set mnist");
  EXPECT_EQ(missing.at("state"), "missing");
  EXPECT_NE(missing.at("try").get<std::string>().find("headroom data fetch mnist"), std::string::npos);

  std::filesystem::remove(temporary_.path() / "cache/machines/here.json");
  EXPECT_EQ(checks().at("machine 'here'").at("try"), "headroom roofline");
  const std::string text = succeed({"doctor"}).out;
  for (const char* part : {"To get what is missing", "headroom roofline", "processor", "cache folder"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(CliDoctor, LooksForLibrariesWhereTheLoaderDoes) {
  put("libnccl.so.2", "not really");
  const Json found =
      checks({}, {{"LD_LIBRARY_PATH", "/nowhere:" + folder().string()}}).at("NCCL (several GPUs)");
  // With a GPU it is also loaded, and the loader refuses it.
  EXPECT_EQ(found.at("state"), survey_gpus().gpus.empty() ? "ok" : "missing");
  EXPECT_NE(found.at("details").get<std::string>().find("libnccl.so.2"), std::string::npos) << found;
}

TEST_F(CliDoctor, ACacheThatCannotBeWrittenIsNamed) {
  put("file", "");
  const auto cache = checks({}, {{"HEADROOM_CACHE", file("file/below").string()}}).at("cache folder");
  EXPECT_EQ(cache.at("state"), "missing");
  EXPECT_NE(cache.at("try").get<std::string>().find("HEADROOM_CACHE"), std::string::npos);
  EXPECT_EQ(checks({}, {{"HEADROOM_CACHE", file("new/one").string()}}).at("cache folder").at("state"), "ok");
  EXPECT_FALSE(std::filesystem::exists(file("new")));  // the check leaves nothing behind
}

TEST_F(CliDoctor, NamesTheTileOfMatrixProducts) {
  const auto tile = [&](const Environment& environment) {
    return checks({}, environment).at("matrix products").at("details").get<std::string>();
  };
  for (const gemm_tile::Version& version : gemm_tile::versions())
    EXPECT_TRUE(tile({{"HEADROOM_TILE", std::string(version.name)}})
                    .starts_with(fmt::format("register tiles of {}, ", version.name)));
  EXPECT_EQ(tile({}), tile({{"HEADROOM_TILE", std::string(gemm_tile::versions()[0].name)}}));
  expect_refused({"train", "mlp"}, {"HEADROOM_TILE", "no instructions 'avx1024'", "unset HEADROOM_TILE"},
                 {{"HEADROOM_TILE", "avx1024"}});
}

TEST_F(CliDoctor, NamesTheMatrixUnits) {
  const std::string text = checks().at("matrix units").at("details").get<std::string>();
  EXPECT_NE(text.find("the processor has: " + cpu_matrix_units().text()), std::string::npos) << text;
  const Json cpu = succeed_json({"doctor"}).at("cpu");
  EXPECT_EQ(cpu.at("bf16_tile"), bf16::versions().empty() ? "none" : bf16::versions().front().name);
  EXPECT_EQ(cpu.at("int8_tile"), int8::versions().front().name);
  expect_refused({"train", "mlp"}, {"HEADROOM_BF16_TILE", "no instructions 'amx_fp128'", "it has"},
                 {{"HEADROOM_BF16_TILE", "amx_fp128"}});
}

TEST_F(CliDoctor, TellsWhatTheProgramWasBuiltForAndWhatTheProcessorHas) {
  const Json cpu = succeed_json({"doctor"}).at("cpu");
  EXPECT_EQ(cpu.at("built_for"), Json(extension_names(program_extensions)));
  EXPECT_EQ(cpu.at("extensions"), Json(extension_names(processor_extensions())));
  const Json check = checks().at("instructions");
  EXPECT_EQ(check.at("state"), "ok");  // the kernels need not be built for the same: see cli_levels_test.cc
  for (const std::string& name : extension_names(processor_extensions()))
    EXPECT_NE(check.at("details").get<std::string>().find(name), std::string::npos) << check;
}

// The emulated processor is older than those that the program was built for: it has no AVX, or not even
// SSE4.2, or nothing beyond Armv8.0.
TEST_F(CliDoctor, AProgramForAnotherProcessorSaysSoAndStops) {
#if defined(__x86_64__)
  const bool avx = std::ranges::count(extension_names(program_extensions), "avx") == 1;
  const std::string emulator = "/usr/bin/qemu-x86_64", processor = avx ? "Nehalem" : "core2duo",
                    lacking = avx ? "avx" : "sse4.2";
#else
  const std::string emulator = "/usr/bin/qemu-aarch64", processor = "cortex-a53", lacking = "atomics";
#endif
  if (!std::filesystem::exists(emulator)) GTEST_SKIP() << "no " << emulator << " here (package qemu-user)";
  if (std::ranges::count(extension_names(program_extensions), lacking) == 0)
    GTEST_SKIP() << "this program was built without " << lacking;
  const Streams streams{file("out").string(), file("err").string()};
  const int code = wait_for(start_program(
      folder(), {emulator, "-cpu", processor, HEADROOM_PROGRAM, "--version"}, environment(), streams));
  EXPECT_EQ(code, 2);
  EXPECT_EQ(read_file(streams.out), "");
  const std::string said = read_file(streams.err);
  for (const std::string& part :
       Words{"headroom: this program was built for", " " + lacking, "HEADROOM_NATIVE=OFF"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST_F(CliDoctor, AWrongRequestIsRefused) {
  expect_refused({"doctor", "--cure"}, {"--cure"});
  expect_refused({"doctor", "me"}, {"me"});
}

class TimingCliDoctor : public CliDoctor {};

TEST_F(TimingCliDoctor, StartsFastWithoutADriver) {
  if (!survey_gpus().driver.empty()) GTEST_SKIP() << "a driver is here: starting it takes its time";
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    succeed({"doctor"});
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  EXPECT_LT(least, 0.05);
  RecordProperty("milliseconds", std::to_string(least * 1e3));
}

}  // namespace
}  // namespace headroom::testing
