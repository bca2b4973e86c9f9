#include "data/glyphs.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "data/glyph_strokes.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

std::span<const std::uint8_t> image(const Split& split, std::int64_t i) {
  const auto n = static_cast<std::size_t>(split.image.numel());
  return std::span(split.pixels).subspan(static_cast<std::size_t>(i) * n, n);
}

double mean_of(std::span<const std::uint8_t> pixels) {
  return std::accumulate(pixels.begin(), pixels.end(), 0.0) / double(pixels.size());
}

TEST(Glyphs, AreTheSameForTheSameSeedWhateverTheThreads) {
  const GlyphOptions options{.train = 700, .test = 300, .seed = 5};
  const Dataset a = make_glyphs(options);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Dataset b = make_glyphs(options);
  omp_set_num_threads(threads);
  EXPECT_EQ(a.train.pixels, b.train.pixels);
  EXPECT_EQ(a.test.pixels, b.test.pixels);
  EXPECT_EQ(a.train.labels, b.train.labels);
  EXPECT_EQ(a.test.labels, b.test.labels);
}

TEST(Glyphs, DoNotDependOnOtherImages) {
  const Dataset large = make_glyphs({.train = 200, .test = 50}),
                small = make_glyphs({.train = 33, .test = 7});
  EXPECT_TRUE(std::equal(small.train.pixels.begin(), small.train.pixels.end(), large.train.pixels.begin()));
  EXPECT_TRUE(std::equal(small.test.labels.begin(), small.test.labels.end(), large.test.labels.begin()));
  std::vector<std::uint8_t> one(28 * 28);
  draw_glyph(0, 1, 49, 28, one);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), image(large.test, 49).begin()));
}

TEST(Glyphs, DifferByIndexSplitAndSeed) {
  const Dataset a = make_glyphs({.train = 1000, .test = 1000}), b = make_glyphs({.train = 1000, .seed = 1});
  std::set<std::vector<std::uint8_t>> seen;
  for (const Split* split : {&a.train, &a.test, &b.train})
    for (std::int64_t i = 0; i < 1000; ++i) {
      const auto pixels = image(*split, i);
      seen.emplace(pixels.begin(), pixels.end());
    }
  EXPECT_EQ(seen.size(), 3000u);
  EXPECT_NE(a.train.labels, b.train.labels);
  EXPECT_NE(a.train.labels, a.test.labels);
}

TEST(Glyphs, ClassesAreBalancedAndShuffled) {
  std::array<int, 10> count{};
  int in_order = 0;
  constexpr int kImages = 60000;
  for (int i = 0; i < kImages; ++i) {
    const int label = glyph_label(0, 0, i);
    ++count[static_cast<std::size_t>(label)];
    in_order += label == i % 10;
  }
  for (int n : count) EXPECT_NEAR(n, kImages / 10, kImages / 10 * 0.02);
  EXPECT_NEAR(double(in_order) / kImages, 0.1, 0.01);
}

TEST(Glyphs, LookLikeWrittenDigits) {
  const Dataset set = make_glyphs({.train = 4000, .test = 0});
  double total = 0;
  for (std::int64_t i = 0; i < set.train.count(); ++i) {
    const auto pixels = image(set.train, i);
    const double ink = mean_of(pixels);
    total += ink;
    EXPECT_GT(ink, 5) << "image " << i << " is all but blank";
    EXPECT_LT(ink, 110) << "image " << i << " is a blot";
    EXPECT_GT(*std::max_element(pixels.begin(), pixels.end()), 128) << "image " << i << " is faint";
    double x = 0, y = 0, border = 0;
    for (int row = 0; row < 28; ++row)
      for (int column = 0; column < 28; ++column) {
        const double value = pixels[static_cast<std::size_t>(row * 28 + column)];
        x += value * (column + 0.5), y += value * (row + 0.5);
        if (row == 0 || column == 0 || row == 27 || column == 27) border += value;
      }
    const double mass = ink * 28 * 28;
    EXPECT_NEAR(x / mass, 14, 3) << "image " << i;
    EXPECT_NEAR(y / mass, 14, 3) << "image " << i;
    EXPECT_LT(border / mass, 0.06) << "image " << i << " runs off the sheet";
  }
  // Scanned digits: 0.1307 of white on average.
  EXPECT_NEAR(total / double(set.train.count()) / 255, 0.13, 0.03);
}

TEST(Glyphs, KeepTheirLooksAtAnySize) {
  for (std::int64_t size : {12, 32, 97}) {
    const Dataset set = make_glyphs({.train = 100, .test = 10, .size = size});
    EXPECT_EQ(set.train.image, (Shape{1, size, size}));
    EXPECT_NEAR(mean_of(set.train.pixels) / 255, 0.13, 0.05) << size;
  }
}

TEST(Glyphs, EveryStyleNamesItsPoints) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(glyph_styles(digit).size(), 4u);
    for (const GlyphStyle& style : glyph_styles(digit)) {
      std::set<char> named(style.pen.begin(), style.pen.end());
      named.erase(' ');
      EXPECT_EQ(named.size(), style.points.size()) << digit << ": " << style.pen;
      EXPECT_EQ(*named.rbegin() - 'a' + 1, static_cast<int>(style.points.size()))
          << digit << ": " << style.pen;
      EXPECT_LE(style.points.size(), 16u);
    }
  }
}

TEST(Glyphs, ComeAsADataset) {
  const Dataset set = load_dataset("glyphs:size=32", {.train_size = 50, .test_size = 20, .seed = 3});
  EXPECT_EQ(set.classes, 10);
  EXPECT_EQ(set.train.image, (Shape{1, 32, 32}));
  EXPECT_EQ(set.train.count(), 50);
  EXPECT_EQ(set.test.count(), 20);

  const Dataset held = load_dataset("glyphs", {.train_size = 50, .validation_tail = 20});
  const Dataset all = load_dataset("glyphs", {.train_size = 70, .test_size = 1});
  EXPECT_EQ(held.train.count(), 50);
  EXPECT_EQ(held.test.labels,
            std::vector<std::uint8_t>(all.train.labels.begin() + 50, all.train.labels.end()));
}

TEST(Glyphs, RejectImpossibleRequests) {
  expect_rejected([] { make_glyphs({.train = 1, .test = 1, .size = 3}); }, {"3x3"});
  expect_rejected([] { load_dataset("glyphs:size=two", {}); }, {"glyphs:size", "two"});
  expect_rejected([] { load_dataset("glyphs:size", {}); }, {"glyphs", "'size' has no value"});
  expect_rejected([] { load_dataset("glyphs:sise=28", {}); }, {"no setting 'sise'"});
  expect_rejected([] { load_dataset("glyphs:size=1000000", {}); }, {"glyphs of 1000000x1000000"});
  expect_rejected([] { load_dataset("glyphs", {.train_size = 10'000'000'000}); }, {"would take"});
}

}  // namespace
}  // namespace headroom::testing
