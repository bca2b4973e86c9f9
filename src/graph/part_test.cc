#include "graph/part.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/shares.h"

namespace headroom {
namespace {

std::vector<std::byte> counted(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(Parts, TogetherAreTheWhole) {
  const Shape shape{5, 7, 3};
  const auto whole = counted(5 * 7 * 3 * 2);
  for (int axis : {-1, 0, 1, 2})
    for (int parts : {1, 2, 3}) {
      std::vector<std::byte> again(whole.size());
      const std::int64_t extent = axis < 0 ? shape.numel() : shape[axis];
      for (int i = 0; i < parts; ++i) {
        const Share share = share_of(extent, parts, i);
        const Part part{shape, axis, share.first, share.count};
        paste_part(part, 2, cut_part(part, 2, whole), again);
      }
      EXPECT_EQ(again, whole) << "axis " << axis << ", " << parts << " parts";
    }
}

TEST(Parts, ColumnsAreThoseOfEveryRow) {
  const auto whole = counted(6);  // 2 x 3
  const Part part{Shape{2, 3}, 1, 1, 2};
  EXPECT_EQ(cut_part(part, 1, whole),
            (std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{4}, std::byte{5}}));
}

TEST(Shares, AreAsEvenAsCanBe) {
  for (int parts : {1, 2, 3, 7})
    for (std::int64_t count : {0, 1, 6, 800, 801}) {
      std::int64_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const Share share = share_of(count, parts, i);
        EXPECT_EQ(share.first, next);
        EXPECT_EQ(share.count, count / parts + (i < count % parts));
        next += share.count;
      }
      EXPECT_EQ(next, count);
    }
  EXPECT_EQ(share_of(800, 3, 0).count, 267);  // same as the course: 267, 267, 266
  EXPECT_EQ(share_of(800, 3, 2).count, 266);
}

}  // namespace
}  // namespace headroom
