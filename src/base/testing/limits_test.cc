#include "base/testing/limits.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom::testing {
namespace {

TEST(TestLimits, PartsHaveEveryCaseOnce) {
  for (const std::size_t number : {0u, 1u, 15u, 16u, 37u}) {
    int owners = 0;
    for (int part = 1; part <= 16; ++part) {
      setenv("HEADROOM_TEST_PART", (std::to_string(part) + "/16").c_str(), 1);
      owners += is_own_case(number) ? 1 : 0;
    }
    EXPECT_EQ(owners, 1) << number;
  }
  for (const char* text : {"nonsense", "3", "0/16", "17/16", "3/0", ""}) {
    setenv("HEADROOM_TEST_PART", text, 1);
    for (const std::size_t number : {0u, 1u, 2u, 3u}) EXPECT_TRUE(is_own_case(number)) << text;
  }
  unsetenv("HEADROOM_TEST_PART");
  EXPECT_TRUE(is_own_case(3));
}

}  // namespace
}  // namespace headroom::testing
