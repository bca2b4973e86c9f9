#include "device/cpu/levels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/extension_names.h"
#include "device/device.h"

namespace headroom {
namespace {

class CpuLevels : public ::testing::Test {
 protected:
  void TearDown() override { use_cpu_level(usual_); }
  const std::string usual_{used_cpu_level().name};
};

TEST_F(CpuLevels, TheLowestRunsEverywhereAndTheHighestHereIsUsed) {
  ASSERT_FALSE(cpu_levels().empty());
  EXPECT_TRUE(cpu_levels().front().here);
  for (const CpuLevel& level : cpu_levels())
    if (level.here) {
      EXPECT_LE(level.vector_bytes, used_cpu_level().vector_bytes);
    }
  EXPECT_TRUE(used_cpu_level().here);
}

TEST_F(CpuLevels, AreThoseOfTheExtensions) {
  const std::vector<std::string> has = extension_names(processor_extensions());
  const auto here = [&](const char* name) { return std::ranges::count(has, name) == 1; };
  for (const CpuLevel& level : cpu_levels()) {
    if (level.name == "v3") {
      EXPECT_EQ(level.here, here("avx2") && here("fma") && here("bmi2"));
    }
    if (level.name == "v4") {
      EXPECT_EQ(level.here, here("avx512bw") && here("avx512cd") && here("avx512dq") && here("avx512vl"));
    }
  }
}

TEST_F(CpuLevels, ALowerOneCanBeNamed) {
  for (const CpuLevel& level : cpu_levels()) {
    if (!level.here) {
      EXPECT_THROW(use_cpu_level(level.name), Error);
      continue;
    }
    use_cpu_level(level.name);
    EXPECT_EQ(used_cpu_level().name, level.name);
    EXPECT_EQ(cpu_capabilities().vector_bytes, level.vector_bytes);
    EXPECT_TRUE(cpu_levels_text().starts_with(fmt::format("for level {} (", level.name)));
  }
}

TEST_F(CpuLevels, AnUnknownOneIsRefusedWithThoseThatAreThere) {
  try {
    use_cpu_level("v9");
    FAIL() << "took v9";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "this program has no CPU kernels of level 'v9'");
    for (const std::string_view name : cpu_level_names())
      EXPECT_NE(std::string(error.hint()).find(name), std::string::npos) << error.hint();
  }
  EXPECT_EQ(used_cpu_level().name, usual_);
}

}  // namespace
}  // namespace headroom
