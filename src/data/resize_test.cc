#include "data/resize.h"

#include <gtest/gtest.h>

#include "data/dataset.h"
#include "data/glyphs.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes resized(const Bytes& in, PlaneSize from, PlaneSize to, ResizeRule rule) {
  Bytes out(static_cast<std::size_t>(to.rows * to.columns));
  resize_plane(in, from, out, to, rule);
  return out;
}

// 1x2 -> 1x4: centres fall at -0.25, 0.25, 0.75, 1.25 of the old ones; the row itself at 0.
TEST(Resize, KeepsTheEdge) {
  EXPECT_EQ(resized({100, 200}, {1, 2}, {1, 4}, ResizeRule::edge), (Bytes{100, 125, 175, 200}));
  EXPECT_EQ(resized({100, 201}, {1, 2}, {1, 4}, ResizeRule::edge), (Bytes{100, 125, 176, 201}));  // 175.75
}

// The outer ones lie a quarter beyond: 0.75 * 100 + 0.25 * 0, 0.75 * 200.
TEST(Resize, MixesWithBlackOutside) {
  EXPECT_EQ(resized({100, 200}, {1, 2}, {1, 4}, ResizeRule::zero), (Bytes{75, 125, 175, 150}));
  EXPECT_EQ(resized({100, 201}, {1, 2}, {1, 4}, ResizeRule::zero),
            (Bytes{75, 125, 175, 150}));  // 175.75, 150.75
}

// 2x2 -> 4x4 under the zero rule. Shares per axis are (outside, first) = (1/4, 3/4), (3/4, 1/4 of the
// second), (1/4, 3/4), (3/4 of the second, 1/4 outside), so every value is a sixteenth of a sum:
//   corner 9a, beside it 9a + 3b, inside 9a + 3b + 3c + d.
TEST(Resize, AgreesWithValuesByHand) {
  const Bytes out = resized({16, 32, 64, 255}, {2, 2}, {4, 4}, ResizeRule::zero);
  EXPECT_EQ(out, (Bytes{9, 15, 21, 18,                                                   //
                        (9 * 16 + 3 * 64) / 16, (9 * 16 + 3 * 32 + 3 * 64 + 255) / 16,   //
                        (3 * 16 + 9 * 32 + 64 + 3 * 255) / 16, (9 * 32 + 3 * 255) / 16,  //
                        (3 * 16 + 9 * 64) / 16, (3 * 16 + 32 + 9 * 64 + 3 * 255) / 16,   //
                        (16 + 3 * 32 + 3 * 64 + 9 * 255) / 16, (3 * 32 + 9 * 255) / 16,  //
                        9 * 64 / 16, (9 * 64 + 3 * 255) / 16, (3 * 64 + 9 * 255) / 16, 9 * 255 / 16}));
}

TEST(Resize, MakesSmallerByTakingBetween) {
  EXPECT_EQ(resized({0, 10, 20, 30}, {1, 4}, {1, 2}, ResizeRule::edge), (Bytes{5, 25}));
  EXPECT_EQ(resized({0, 10, 20, 30}, {4, 1}, {2, 1}, ResizeRule::zero), (Bytes{5, 25}));
  EXPECT_EQ(resized({7}, {1, 1}, {2, 3}, ResizeRule::edge), Bytes(6, 7));
}

TEST(Resize, ChangesEveryImageAndChannel) {
  Split split;
  split.image = {3, 1, 2};
  split.labels = {0, 1};
  split.pixels = {0, 40, 10, 50, 20, 60, 100, 140, 110, 150, 120, 160};
  resize_images(split, {1, 4}, ResizeRule::edge);
  EXPECT_EQ(split.image, (Shape{3, 1, 4}));
  EXPECT_EQ(split.pixels, (Bytes{0,   10,  30,  40,  10,  20,  40,  50,  20,  30,  50,  60,
                                 100, 110, 130, 140, 110, 120, 140, 150, 120, 130, 150, 160}));
}

TEST(Resize, IsWhatLoadingADataSetDoes) {
  DataOptions options{.train_size = 3, .test_size = 2, .image_size = 20};
  EXPECT_EQ(load_dataset("glyphs", options).train.pixels,
            make_glyphs({.train = 3, .test = 2, .size = 20}).train.pixels);
  parse_image_size("14x20", options);
  const Dataset set = load_dataset("glyphs", options);
  EXPECT_EQ(set.train.image, (Shape{1, 14, 20}));
  EXPECT_EQ(set.test.pixels.size(), 2u * 14 * 20);
}

TEST(Resize, ReadsSizesAndRules) {
  DataOptions options;
  parse_image_size("48", options);
  EXPECT_EQ(options.image_size, 48);
  EXPECT_EQ(options.image_width, 0);
  parse_image_size("48x64", options);
  EXPECT_EQ(options.image_width, 64);
  for (const char* wrong : {"", "x", "0", "-3", "12x", "1x2x3", "20000", "5 ", "3.5", "99999999999999999999"})
    expect_rejected([&] { parse_image_size(wrong, options); }, {"`image-size`"});
  EXPECT_EQ(parse_resize_rule("zero"), ResizeRule::zero);
  expect_rejected([] { parse_resize_rule("zeros"); }, {"'zeros'"});
}

}  // namespace
}  // namespace headroom::testing
