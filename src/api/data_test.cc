#include "headroom/data.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using testing::expect_rejected;
using Bytes = std::vector<std::uint8_t>;

TEST(ApiData, LoadsByName) {
  const Data data = load_data("glyphs", {.train_size = 20, .test_size = 7, .image_size = "32"});
  EXPECT_EQ(data.name(), "glyphs");
  EXPECT_EQ(data.shape(), (std::vector<std::int64_t>{1, 32, 32}));
  EXPECT_EQ(data.train_count(), 20);
  EXPECT_EQ(data.test_count(), 7);
  EXPECT_EQ(data.classes(), 10);
  EXPECT_EQ(data.class_names().size(), 10u);
  EXPECT_EQ(data.test_pixels().size(), 7u * 32 * 32);
  EXPECT_EQ(data.test_labels().size(), 7u);
  expect_rejected([] { load_data("gliphs"); }, {"gliphs"});
  expect_rejected([] { load_data("glyphs", {.pixels = "soft"}); }, {"soft"});
}

TEST(ApiData, TakesItemsFromMemory) {
  const Bytes pixels(3 * 8), labels = {0, 4, 2};
  const Data data = make_data({2, 2, 2}, {.pixels = pixels, .labels = labels}, {.pixels = pixels});
  EXPECT_EQ(data.train_count(), 3);
  EXPECT_EQ(data.test_count(), 3);
  EXPECT_EQ(data.classes(), 5);
  EXPECT_EQ(data.test_labels()[1], 0);
  EXPECT_EQ(make_data({8}, {.pixels = pixels, .labels = labels}, {}, {.classes = 9}).classes(), 9);
}

TEST(ApiData, RefusesItemsThatDoNotFit) {
  const Bytes pixels(24), labels = {0, 4, 2}, two = {0, 1};
  const std::vector<float> values(24);
  expect_rejected([&] { make_data({2, 4}, {.pixels = pixels}, {}); }, {"not 2 of them"});
  expect_rejected([&] { make_data({0}, {.pixels = pixels}, {}); }, {"extent of 0"});
  expect_rejected([&] { make_data({7}, {.pixels = pixels}, {}); }, {"24 training elements", "7 each"});
  expect_rejected([&] { make_data({8}, {.pixels = pixels, .labels = two}, {}); },
                  {"3 training items", "2 labels"});
  expect_rejected([&] { make_data({8}, {.pixels = pixels, .values = values}, {}); }, {"pixels and values"});
  expect_rejected([&] { make_data({8}, {.pixels = pixels, .labels = labels}, {}, {.classes = 4}); },
                  {"up to 4"});
  expect_rejected([&] { make_data({8}, {}, {}); }, {"has no items"});
}

}  // namespace
}  // namespace headroom
