#include "base/version.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headroom {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_EQ(std::ranges::count(version(), '.'), 2);
  EXPECT_EQ(version().find_first_not_of("0123456789."), std::string_view::npos);
}

TEST(Version, CommitIsAHashOrUnknown) {
  if (commit() == "unknown") GTEST_SKIP() << "not built from a git checkout";
  EXPECT_GE(commit().size(), 7u);
  EXPECT_EQ(commit().find_first_not_of("0123456789abcdef"), std::string_view::npos);
}

TEST(Version, NamesCompilerAndBuildType) {
  EXPECT_NE(compiler().find(' '), std::string_view::npos);
  EXPECT_FALSE(build_type().empty());
}

}  // namespace
}  // namespace headroom
