#include "ops/broadcast.h"

#include <gtest/gtest.h>

namespace headroom {
namespace broadcast_test {

TEST(Broadcast, FindsTheCommonShape) {
  EXPECT_EQ(broadcast_shape("t", {2, 3}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shape("t", {8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast_shape("t", Shape{}, {4}), (Shape{4}));
  EXPECT_EQ(broadcast_shape("t", {1}, {1, 1}), (Shape{1, 1}));
  EXPECT_THROW(broadcast_shape("t", {2, 3}, {2}), Error);
  EXPECT_THROW(broadcast_shape("t", {2, 3}, {3, 3}), Error);
}

TEST(Broadcast, JoinsAxesThatAllOperandsStrideAlike) {
  EXPECT_EQ(broadcast_loop({3, 5, 7}, {{3, 5, 7}, {3, 5, 7}}).rank, 1);
  EXPECT_EQ(broadcast_loop({3, 5, 7}, {{3, 5, 7}, {1}}).rank, 1);
  EXPECT_EQ(broadcast_loop({3, 5, 7}, {{3, 5, 7}, {7}}).rank, 2);
  const BroadcastLoop channels = broadcast_loop({2, 3, 4, 5}, {{2, 3, 4, 5}, {3, 1, 1}});
  EXPECT_EQ(channels.rank, 3);
  EXPECT_EQ(channels.inner(), 20);
  EXPECT_EQ(channels.inner_step()[1], 0);
  EXPECT_EQ(broadcast_loop(Shape{}, {Shape{}}).numel(), 1);
}

// The loop against the definition, from every start, so that rows are entered in the middle too.
TEST(Broadcast, WalksWhereTheDefinitionPoints) {
  const Shape out{2, 3, 4, 5};
  for (const Shape& operand :
       std::vector<Shape>{{2, 3, 4, 5}, {5}, {4, 1}, {3, 1, 5}, {2, 1, 4, 1}, {1}, Shape{}}) {
    const BroadcastLoop loop = broadcast_loop(out, {operand, {3, 4, 1}});
    for (std::int64_t begin = 0; begin < out.numel(); ++begin) {
      std::int64_t next = begin;
      loop.each_row(begin, out.numel(),
                    [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
                      ASSERT_EQ(at, next);
                      for (std::int64_t k = 0; k < n; ++k)
                        ASSERT_EQ(offset[0] + k * loop.inner_step()[0], broadcast_index(out, operand, at + k))
                            << operand.str();
                      next = at + n;
                    });
      ASSERT_EQ(next, out.numel());
    }
  }
}

}  // namespace broadcast_test
}  // namespace headroom
