#include "bench/vadd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "bench/vadd_cpu.h"

namespace headroom {
namespace {

constexpr VaddValues kBothValues[] = {VaddValues::plain, VaddValues::varied};

TEST(Vadd, SumsAreRightForEverySizeAndTeam) {
  for (const std::int64_t n : {1, 3, 4, 17, 1000, 100'003})
    for (const int threads : {1, 2, 3})
      for (const VaddValues values : kBothValues) {
        std::vector<float> x(static_cast<std::size_t>(n) + 1, -5), y = x;  // the last is a guard
        fill_vectors(values, n, x.data(), y.data());
        add_vectors(threads, n, x.data(), y.data());
        EXPECT_EQ(wrong_sums(values, n, y.data()), 0);
        EXPECT_EQ(y.back(), -5.0F);
        if (values == VaddValues::plain) {
          EXPECT_EQ(std::count(y.begin(), y.end() - 1, 3.0F), n);
        }
      }
}

TEST(Vadd, TheCheckSeesEveryWrongSum) {
  for (const VaddValues values : kBothValues) {
    std::vector<float> x(1000), y(1000);
    fill_vectors(values, 1000, x.data(), y.data());
    EXPECT_GT(wrong_sums(values, 1000, y.data()), 900) << "nothing was added yet";
    add_vectors(1, 1000, x.data(), y.data());
    y[0] += 1;
    y[999] = std::nanf("");
    EXPECT_EQ(wrong_sums(values, 1000, y.data()), 2);
  }
  std::vector<float> x(1000), y(1000);
  fill_vectors(VaddValues::varied, 1000, x.data(), y.data());
  add_vectors(1, 999, x.data(), y.data() + 1);  // one place further
  EXPECT_GT(wrong_sums(VaddValues::varied, 1000, y.data()), 900);
}

TEST(Vadd, ListsEveryRowOnceAndSaysWhatCannotRun) {
  const auto cpu = open_device("cpu", 2);
  const VaddRequest request{.elements = {2000, 1000, 2000}, .why_no_gpu = "none was installed"};
  const auto timings = bench_vadd(*cpu, nullptr, request, [](const std::string&) {});
  ASSERT_EQ(timings.size(), 2u * (2 + 10));
  std::set<std::tuple<std::int64_t, VaddLaunch, VaddMemory>> seen;
  for (const VaddTiming& t : timings) {
    EXPECT_TRUE(seen.emplace(t.elements, t.launch, t.memory).second) << t.runs_on;
    EXPECT_EQ(t.why_not, t.on_gpu() ? "none was installed" : "");
    if (t.on_gpu()) continue;
    EXPECT_GE(t.total.samples, 5);
    EXPECT_NEAR(t.bytes_per_s(), 12.0 * double(t.elements) / t.add.median, 1);
    EXPECT_EQ(t.copy_in.samples, 0);
  }
  EXPECT_EQ(timings.front().elements, 1000);
}

TEST(Vadd, RefusesWhatDoesNotFitBeforeAllocating) {
  const auto message = [](std::vector<std::int64_t> elements) -> std::string {
    try {
      require_vadd(elements, nullptr);
    } catch (const Error& error) {
      return std::string(error.what()) + " / " + error.hint();
    }
    return "accepted";
  };
  EXPECT_EQ(message({1, 1'000'000}), "accepted");
  EXPECT_NE(message({5, 0}).find("`elements` has 0; every number must be at least 1"), std::string::npos);
  EXPECT_NE(message({-3}).find("-3"), std::string::npos);
  EXPECT_NE(message({}).find("at least one"), std::string::npos);
  const std::string huge = message({1000, 4'000'000'000'000'000'000});
  EXPECT_NE(huge.find("of host memory"), std::string::npos) << huge;
  EXPECT_NE(huge.find("at most"), std::string::npos) << huge;
}

TEST(Vadd, PublishedFiguresStandBesideTheirRows) {
  using enum VaddLaunch;
  EXPECT_EQ(published_vadd(100'000'000, full_grid, VaddMemory::copied).add_ms, 2.3231);
  EXPECT_EQ(published_vadd(100'000'000, full_grid, VaddMemory::copied).copy_in_ms, 165.73);
  EXPECT_EQ(published_vadd(1'000'000, one_thread, VaddMemory::managed).add_ms, 85.737);
  EXPECT_EQ(published_vadd(5'000'000, one_core, VaddMemory::host).add_ms, 2.207);
  EXPECT_EQ(published_vadd(5'000'000, one_block, VaddMemory::pinned).add_ms, 0);
  EXPECT_EQ(published_vadd(5'000'000, all_cores, VaddMemory::host).add_ms, 0);
  EXPECT_EQ(published_vadd(7, one_core, VaddMemory::host).add_ms, 0);
}

}  // namespace
}  // namespace headroom
