#include "ops/axes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace headroom {
namespace axes_test {

using Integers = std::vector<std::int64_t>;

TEST(Axes, NegativeOnesCountFromTheEnd) {
  EXPECT_EQ(normalize_axis("test", -1, 3), 2);
  EXPECT_EQ(normalize_axis("test", -3, 3), 0);
  EXPECT_EQ(normalize_axes("test", {2, -3}, 3), (Integers{2, 0}));
}

TEST(Axes, RejectsWhatIsNotThere) {
  EXPECT_THROW(normalize_axis("test", 3, 3), Error);
  EXPECT_THROW(normalize_axis("test", -4, 3), Error);
  EXPECT_THROW(normalize_axis("test", 0, 0), Error);
  EXPECT_THROW(normalize_axes("test", {1, -2}, 3), Error);
}

}  // namespace axes_test
}  // namespace headroom
