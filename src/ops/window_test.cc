#include "ops/window.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace headroom {
namespace window_test {

using Integers = std::vector<std::int64_t>;

Window2d pool(const Attrs& attrs, Shape input, std::int64_t kh, std::int64_t kw) {
  return parse_window(attrs, input, kh, kw, DefaultStride::kernel);
}

TEST(Window, StrideDefaultsToTheKernelForPoolsAndToOneForConvolutions) {
  EXPECT_EQ(pool({}, {1, 1, 7, 9}, 2, 3).output, (Extent2d{3, 3}));
  EXPECT_EQ(parse_window({}, {1, 1, 7, 9}, 2, 3, DefaultStride::one).output, (Extent2d{6, 7}));
}

TEST(Window, PadsAreTopLeftBottomRight) {
  const Window2d w = parse_window({{"pads", Integers{1, 0, 0, 2}}}, {1, 1, 5, 5}, 3, 3, DefaultStride::one);
  EXPECT_EQ(w.pad, (Extent2d{1, 0}));
  EXPECT_EQ(w.pad_end, (Extent2d{0, 2}));
  EXPECT_EQ(w.output, (Extent2d{4, 5}));
}

TEST(Window, DilationWidensTheReach) {
  const Window2d w = parse_window({{"dilations", Integers{2, 3}}}, {1, 1, 7, 7}, 3, 3, DefaultStride::one);
  EXPECT_EQ(w.output, (Extent2d{3, 1}));
}

TEST(Window, CeilModeKeepsAWindowThatStartsInside) {
  const Attrs ceil{{"ceil_mode", std::int64_t{1}}};
  EXPECT_EQ(pool({}, {1, 1, 5, 6}, 2, 2).output, (Extent2d{2, 3}));
  EXPECT_EQ(pool(ceil, {1, 1, 5, 6}, 2, 2).output, (Extent2d{3, 3}));
  // Kernel 2, stride 3 over 4 with padding 1 and 1: rounding up gives 3 windows starting at -1, 2 and 5; the
  // last starts beyond the input and is dropped.
  const Attrs padded{
      {"ceil_mode", std::int64_t{1}}, {"strides", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}};
  EXPECT_EQ(pool(padded, {1, 1, 4, 4}, 2, 2).output, (Extent2d{2, 2}));
  // One element of the input in a window larger than it.
  const Attrs wide{{"ceil_mode", std::int64_t{1}}, {"strides", Integers{2, 2}}};
  EXPECT_EQ(pool(wide, {1, 1, 2, 2}, 3, 3).output, (Extent2d{1, 1}));
}

TEST(Window, SameGivesOneOutputPerStride) {
  const Attrs upper{{"auto_pad", std::string("same_upper")}, {"strides", Integers{2, 2}}};
  const Window2d u = pool(upper, {1, 1, 6, 7}, 3, 3);
  EXPECT_EQ(u.output, (Extent2d{3, 4}));
  EXPECT_EQ(u.pad, (Extent2d{0, 1}));
  EXPECT_EQ(u.pad_end, (Extent2d{1, 1}));
  const Attrs lower{{"auto_pad", std::string("same_lower")}, {"strides", Integers{2, 2}}};
  const Window2d l = pool(lower, {1, 1, 6, 7}, 3, 3);
  EXPECT_EQ(l.output, (Extent2d{3, 4}));
  EXPECT_EQ(l.pad, (Extent2d{1, 1}));
  EXPECT_EQ(l.pad_end, (Extent2d{0, 1}));
  // A stride longer than the window needs no padding at all.
  const Attrs sparse{{"auto_pad", std::string("same_upper")}, {"strides", Integers{4, 4}}};
  EXPECT_EQ(pool(sparse, {1, 1, 8, 8}, 2, 2).pad_end, (Extent2d{0, 0}));
}

TEST(Window, RejectsWhatCannotSlide) {
  const Shape input{1, 1, 8, 8};
  EXPECT_THROW(pool({{"strides", Integers{0, 1}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"strides", Integers{1}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"dilations", Integers{1, -1}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"pads", Integers{2, 0, 0, 0}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"pads", Integers{0, 0, 0, 2}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"pads", Integers{-1, 0, 0, 0}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"pads", Integers{1, 1}}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"auto_pad", std::string("same")}}, input, 2, 2), Error);
  EXPECT_THROW(pool({{"auto_pad", std::string("valid")}, {"pads", Integers{1, 1, 1, 1}}}, input, 2, 2),
               Error);
  EXPECT_THROW(pool({}, input, 9, 2), Error);
  EXPECT_THROW(pool({}, input, 0, 2), Error);
  EXPECT_THROW(pool({}, {8, 8}, 2, 2), Error);
  EXPECT_THROW(pool({{"dilations", Integers{std::int64_t{1} << 62, 1}}}, input, 3, 3), Error);
}

}  // namespace window_test
}  // namespace headroom
