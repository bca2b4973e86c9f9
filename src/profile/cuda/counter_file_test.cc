// Counters that a GPU recorded, evaluated on a machine that need not have one.
#include "profile/testing/counter_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "profile/cuda/metric_host.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recorded_counters() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(HEADROOM_SOURCE_DIR) / "tests" / "golden"))
    if (const std::string name = entry.path().filename();
        name.starts_with("counters-") && name.ends_with(".bin"))
      files.push_back(entry.path());
  return files;
}

TEST(CounterFiles, AreReadAsTheyWereWritten) {
  const fs::path path = fs::temp_directory_path() / fmt::format("counters{}.bin", ::getpid());
  const testing::CounterFile file{"GH100", {"a.sum", "b.sum"}, {0.1, 3e12}, {0, 10, 255, 13, 10}};
  testing::write_counter_file(file, path);
  const testing::CounterFile again = testing::read_counter_file(path);
  EXPECT_EQ(again.chip, file.chip);
  EXPECT_EQ(again.metrics, file.metrics);
  EXPECT_EQ(again.values, file.values);
  EXPECT_EQ(again.image, file.image);
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_THROW(testing::read_counter_file(path), Error);
  fs::remove(path);
}

TEST(CounterFiles, HaveTheSameValuesWithoutAGpu) {
  const std::vector<fs::path> files = recorded_counters();
  if (files.empty()) GTEST_SKIP() << "no GPU has recorded tests/golden/counters-CHIP.bin yet";
  try {
    cupti_chips();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const fs::path& path : files) {
    const testing::CounterFile file = testing::read_counter_file(path);
    EXPECT_LT(fs::file_size(path), testing::kMaxCounterFile) << path;
    ASSERT_EQ(file.metrics.size(), file.values.size()) << path;
    EXPECT_EQ(MetricHost(file.chip).values(file.image, 0, file.metrics), file.values) << path;
  }
}

}  // namespace
}  // namespace headroom
