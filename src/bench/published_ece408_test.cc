#include "bench/published_ece408.h"

#include <gtest/gtest.h>

#include "bench/convolution_kinds.h"

namespace headroom {
namespace {

TEST(PublishedEce408, TheTermIsThatOfTheModel) {
  EXPECT_EQ(ece408_term("ece408"), "2018fa");
  EXPECT_EQ(ece408_term("ece408:classes=10,term=2019sp"), "2019sp");
  EXPECT_EQ(ece408_term("ece408:term=2019sp,classes=5"), "");
  EXPECT_EQ(ece408_term("lenet5:term=2019sp"), "");
}

TEST(PublishedEce408, RowsMatchTermAndSizeAndTheirSumsAddUp) {
  EXPECT_EQ(published_ece408("2018fa", 1'001).size(), 0u);
  EXPECT_EQ(published_ece408("", 10'000).size(), 0u);
  double accuracy = 0;
  for (const std::int64_t images : {100, 1'000, 10'000})
    for (const PublishedEce408& row : published_ece408("2018fa", images)) {
      EXPECT_EQ(row.images, images);
      if (row.conv1_ms > 0) {
        EXPECT_NEAR(row.conv1_ms + row.conv2_ms, row.sum_ms, 1e-3) << row.who;
      }
      if (row.accuracy > 0 && row.convolution == "own") accuracy += row.accuracy;
    }
  EXPECT_NEAR(accuracy, 0.85 + 0.827 + 0.8171, 1e-12);
}

TEST(FirstImages, AreThoseAtTheFront) {
  Split split;
  split.image = {1, 2, 2};
  split.labels = {7, 8, 9};
  for (std::uint8_t i = 0; i < 12; ++i) split.pixels.push_back(i);
  const Split two = first_images(split, 2);
  EXPECT_EQ(two.count(), 2);
  EXPECT_EQ(two.pixels.size(), 8u);
  EXPECT_EQ(two.labels, (std::vector<std::uint8_t>{7, 8}));
  EXPECT_EQ(first_images(split, 5).count(), 3);
}

}  // namespace
}  // namespace headroom
