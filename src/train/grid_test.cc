#include "train/grid.h"

#include <gtest/gtest.h>

#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

using Values = std::vector<std::string>;

TEST(Grid, TakesEveryCombinationTheLastAxisFastest) {
  const auto rows = grid_rows({{"lr", {"0.1", "0.2"}}, {"hidden", {"8", "16", "32"}}});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(to_text(rows[0]), "lr 0.1, hidden 8");
  EXPECT_EQ(to_text(rows[1]), "lr 0.1, hidden 16");
  EXPECT_EQ(to_text(rows[5]), "lr 0.2, hidden 32");
  EXPECT_EQ(to_text(without(rows[5], "lr")), "hidden 32");
  EXPECT_EQ(*value_of(rows[3], "lr"), "0.2");
  EXPECT_EQ(value_of(rows[3], "batch"), nullptr);
}

TEST(Grid, HasOneRowWithoutAxes) {
  ASSERT_EQ(grid_rows({}).size(), 1u);
  EXPECT_EQ(to_text(grid_rows({}).front()), "");
}

TEST(Grid, RefusesMoreRowsThanAnyoneWaitsFor) {
  const Values many(101, "1");
  expect_rejected([&] { grid_rows({{"a", many}, {"b", many}}); }, {"more than 10000 rows"});
}

TEST(Grid, SplitsAListButNotTheSettingsOfAValue) {
  EXPECT_EQ(parse_values("0.01,0.05", "--lr"), (Values{"0.01", "0.05"}));
  EXPECT_EQ(parse_values("adam:beta1=0.9,epsilon=1e-8,sgd", "--optimizer"),
            (Values{"adam:beta1=0.9,epsilon=1e-8", "sgd"}));
  EXPECT_EQ(parse_values("step:every=2,gamma=0.5,cosine:min=0", "--schedule"),
            (Values{"step:every=2,gamma=0.5", "cosine:min=0"}));
  expect_rejected([] { parse_values("0.1,,0.2", "--lr"); }, {"--lr", "empty value"});
  expect_rejected([] { parse_values("0.1,0.2,0.1", "--lr"); }, {"--lr has 0.1 twice"});
}

}  // namespace
}  // namespace headroom::testing
