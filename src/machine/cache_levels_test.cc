#include "machine/cache_levels.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

void describe(const fs::path& root, int cpu, int index, int level, const char* type, const char* size,
              const char* shared) {
  const fs::path folder = root / fmt::format("cpu{}/cache/index{}", cpu, index);
  fs::create_directories(folder);
  std::ofstream(folder / "level") << level << "\n";
  std::ofstream(folder / "type") << type << "\n";
  std::ofstream(folder / "size") << size << "\n";
  std::ofstream(folder / "shared_cpu_list") << shared << "\n";
}

TEST(CacheLevels, SharedCachesAreCountedOnce) {
  const fs::path root = fs::temp_directory_path() / fmt::format("headroom_caches_{}", ::getpid());
  fs::remove_all(root);
  // Two cores of two threads each (0 and 2, 1 and 3) under one last level.
  for (int cpu = 0; cpu < 4; ++cpu) {
    const char* core = cpu % 2 == 0 ? "0,2" : "1,3";
    describe(root, cpu, 0, 1, "Data", "48K", core);
    describe(root, cpu, 1, 1, "Instruction", "32K", core);
    describe(root, cpu, 2, 2, "Unified", "2048K", core);
    describe(root, cpu, 3, 3, "Unified", "32M", "0-3");
  }
  const int cpus[] = {0, 1, 2, 3};
  const auto all = cache_levels_in(root, cpus, 4);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "L1");
  EXPECT_EQ(all[0].total(), 2 * 48 << 10);
  EXPECT_EQ(all[1].total(), 4 << 20);
  EXPECT_EQ(all[2].total(), 32 << 20);
  EXPECT_EQ(all[2].instances, 1);
  const auto instructions = cache_levels_in(root, cpus, 4, CacheKind::instruction);
  ASSERT_EQ(instructions.size(), 1u);
  EXPECT_EQ(instructions[0].total(), 2 * 32 << 10);
  // One thread uses one of each.
  EXPECT_EQ(cache_levels_in(root, cpus, 1)[1].total(), 2 << 20);
  EXPECT_TRUE(cache_levels_in(root / "absent", cpus, 4).empty());
  fs::remove_all(root);
}

TEST(CacheLevels, ASweepFindsTheSteps) {
  // 64 KiB at 100, 1 MiB at 60, 32 MiB at 30, memory at 12; the set beyond a level is half in it.
  auto rate = [](std::int64_t bytes) {
    const std::int64_t kib = bytes >> 10;
    if (kib <= 64) return kib == 32 ? 97.0 : 100.0;
    if (kib <= 1024) return kib == 128 ? 70.0 : 60.0;
    if (kib <= 32 << 10) return kib == 2048 ? 40.0 : 30.0;
    return kib == 64 << 10 ? 18.0 : 12.0;
  };
  const auto found = cache_levels_by_sweep(2, rate);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].bytes, 64 << 10);
  EXPECT_EQ(found[1].bytes, 1 << 20);
  EXPECT_EQ(found[2].bytes, 32 << 20);
  EXPECT_EQ(found[0].instances, 2);
  EXPECT_EQ(found[2].instances, 1);
  EXPECT_TRUE(cache_levels_by_sweep(2, [](std::int64_t) { return 10.0; }).empty());
}

TEST(CacheLevels, AContainerMayHaveAQuota) {
  const fs::path file = fs::temp_directory_path() / fmt::format("headroom_quota_{}", ::getpid());
  auto quota = [&](const char* text) {
    std::ofstream(file) << text;
    return cpu_quota(file);
  };
  EXPECT_EQ(quota("150000 100000\n"), 1.5);
  EXPECT_EQ(quota("max 100000\n"), 0);
  EXPECT_EQ(quota(""), 0);
  fs::remove(file);
  EXPECT_EQ(cpu_quota(file), 0);
}

TEST(CacheLevels, ThisProcessMayRunSomewhere) {
  EXPECT_FALSE(allowed_cpus("/sys/devices/system/cpu").empty());
}

}  // namespace
}  // namespace headroom
