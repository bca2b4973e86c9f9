#include "data/augment.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "data/loader.h"
#include "data/pixel_writer.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

TEST(Augment, ReadsItsNames) {
  EXPECT_EQ(parse_augment("crop,flip"), (Augment{4, true}));
  EXPECT_EQ(parse_augment("flip"), (Augment{0, true}));
  EXPECT_EQ(parse_augment("crop:2"), (Augment{2, false}));
  expect_rejected([] { parse_augment("crop,flop"); }, {"'flop'"});
  expect_rejected([] { parse_augment("crop,"); }, {"''"});
  expect_rejected([] { parse_augment("flip,flip"); }, {"twice"});
  expect_rejected([] { parse_augment("crop:0"); }, {"crop:0", "1 and"});
  expect_rejected([] { parse_augment("crop:x"); }, {"'x'"});
  expect_rejected([] { parse_augment("flip:2"); }, {"no number"});
  try {
    parse_augment("flop");
  } catch (const Error& e) {
    EXPECT_EQ(e.hint(), "did you mean 'flip'?");
  }
}

TEST(Augment, DrawsEveryPlaceAboutEquallyOften) {
  const Augment augment{2, true};
  std::map<std::int64_t, int> down, right;
  int flipped = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const Jitter jitter = draw_jitter(augment, 5, 3, i);
    ++down[jitter.down], ++right[jitter.right], flipped += jitter.flipped;
  }
  ASSERT_EQ(down.size(), 5u);
  ASSERT_EQ(right.size(), 5u);
  EXPECT_EQ(down.begin()->first, -2);
  for (const auto& counts : {down, right})
    for (const auto& [place, count] : counts) EXPECT_NEAR(count, kDraws / 5, 250) << place;  // 4 deviations
  EXPECT_NEAR(flipped, kDraws / 2, 300);
}

// 1x3x3 of 1 ... 9, padding 0.
std::vector<float> written(const Jitter& jitter) {
  std::vector<std::uint8_t> image(9);
  std::iota(image.begin(), image.end(), 1);
  const PixelWriter writer({1, 3, 3}, {1, 3, 3}, Preprocess::raw());
  std::vector<float> out(9, -1);
  writer.write(image.data(), jitter, out.data());
  return out;
}

TEST(Augment, MovesAndFlips) {
  using Values = std::vector<float>;
  EXPECT_EQ(written({}), (Values{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(written({0, 0, true}), (Values{3, 2, 1, 6, 5, 4, 9, 8, 7}));
  EXPECT_EQ(written({1, 0, false}), (Values{0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(written({-1, 2, false}), (Values{0, 0, 4, 0, 0, 7, 0, 0, 0}));
  EXPECT_EQ(written({0, -1, false}), (Values{2, 3, 0, 5, 6, 0, 8, 9, 0}));
  EXPECT_EQ(written({0, -1, true}), (Values{0, 3, 2, 0, 6, 5, 0, 9, 8}));
  EXPECT_EQ(written({0, 7, false}), Values(9, 0));
  EXPECT_EQ(written({-7, -7, true}), Values(9, 0));
}

TEST(PixelWriter, NormalisesEachChannelAndPadsWithPixelZero) {
  const Preprocess p{1.0 / 255, {0.5, 0.25}, {0.5, 2}};
  const std::vector<std::uint8_t> image = {255, 51};  // two channels of one pixel
  const PixelWriter writer({2, 1, 1}, {2, 1, 3}, p);
  std::vector<double> out(6, 99);
  writer.clear(out.data());
  writer.write(image.data(), {}, out.data());
  const std::vector<double> want = {-1, 1, -1, -0.125, (0.2 - 0.25) / 2, -0.125};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(out[i], want[i], 1e-15) << i;
}

TEST(Preprocess, KnowsTheSets) {
  EXPECT_EQ(usual_preprocess("mnist"), Preprocess{});
  EXPECT_EQ(usual_preprocess("glyphs:size=20"), Preprocess{});
  EXPECT_EQ(usual_preprocess("cifar10:a.bin").mean.size(), 3u);
  EXPECT_EQ(usual_preprocess("fashion-mnist").deviation[0], 0.3530);
  EXPECT_EQ(usual_preprocess("images:x").mean[0], 0.5);
}

TEST(Preprocess, IsReadFromText) {
  const Preprocess usual;
  EXPECT_EQ(parse_preprocess("", "", usual), usual);
  EXPECT_EQ(parse_preprocess("normalized", "", usual), usual);
  EXPECT_EQ(parse_preprocess("raw", "", usual), Preprocess::raw());
  EXPECT_EQ(parse_preprocess("scaled", "", usual), Preprocess::scaled());
  EXPECT_EQ(parse_preprocess("", "0.5,0.25", usual), (Preprocess{1.0 / 255, {0.5}, {0.25}}));
  EXPECT_EQ(parse_preprocess("normalized", "1,2,3/4,5,6", usual),
            (Preprocess{1.0 / 255, {1, 2, 3}, {4, 5, 6}}));
  auto parse = [&](const char* pixels, const char* normalize) {
    return [&usual, pixels, normalize] { parse_preprocess(pixels, normalize, usual); };
  };
  expect_rejected(parse("rwa", ""), {"'rwa'"});
  expect_rejected(parse("raw", "0.5,0.5"), {"contradict"});
  expect_rejected(parse("", "0.5"), {"two numbers"});
  expect_rejected(parse("", "0.5,0"), {"above 0"});
  expect_rejected(parse("", "0.5,-1"), {"above 0"});
  expect_rejected(parse("", "1,2/3"), {"2 means", "1 deviations"});
  expect_rejected(parse("", "a,1"), {"'a'"});
  expect_rejected(parse("", "nan,1"), {"nan"});
  expect_rejected([] { require_sound({1, {1, 2, 3}, {1, 2, 3}}, 1); }, {"3 means", "1 channel"});
}

}  // namespace
}  // namespace headroom::testing
