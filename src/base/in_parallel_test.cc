#include "base/in_parallel.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"

namespace headroom {
namespace {

TEST(InParallel, EveryTaskRunsOnceAndTheFirstErrorIsThrown) {
  std::array<int, 100> runs = {};
  in_parallel(runs.size(), [&](std::size_t i) { ++runs[i]; });
  for (const int times : runs) EXPECT_EQ(times, 1);
  in_parallel(0, [](std::size_t) { FAIL(); });

  const auto some_fail = [&](std::size_t i) {
    ++runs[i];
    if (i == 7 || i == 70) fail("task {}", i);
  };
  try {
    in_parallel(runs.size(), some_fail);
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "task 7");
  }
  for (const int times : runs) EXPECT_EQ(times, 2);
}

}  // namespace
}  // namespace headroom
