#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

// Three classes, four images: right, right, wrong (1 classified as 2), wrong with the label ranked last.
Metrics example(std::int64_t top) {
  Metrics m(3, top);
  const std::vector<double> scores = {2, 0, 1, 0, 3, 1, 0, 1, 2, 0, 1, 2};
  const std::vector<std::int32_t> labels = {0, 1, 1, 0};
  m.add(std::span(scores).first(6), std::span(labels).first(2));
  m.add(std::span(scores).last(6), std::span(labels).last(2));
  return m;
}

TEST(Metrics, CountByHand) {
  const Metrics m = example(2);
  EXPECT_EQ(m.images(), 4);
  EXPECT_EQ(m.accuracy(), 0.5);
  EXPECT_EQ(m.top_accuracy(), 0.75);
  EXPECT_EQ(m.confused(1, 2), 1);
  EXPECT_EQ(m.confused(0, 2), 1);
  EXPECT_EQ(m.images_of(1), 2);
  EXPECT_EQ(m.precision(0), 1);
  EXPECT_EQ(m.recall(0), 0.5);
  EXPECT_EQ(m.precision(2), 0);
  EXPECT_EQ(m.recall(2), 0);  // never seen
  const double row = std::log(std::exp(0.0) + std::exp(1.0) + std::exp(2.0));
  const double wide = std::log(std::exp(0.0) + std::exp(3.0) + std::exp(1.0));
  EXPECT_NEAR(m.log_loss(), ((row - 2) + (wide - 3) + (row - 1) + (row - 0)) / 4, 1e-12);
}

TEST(Metrics, TopIsAtMostAllClasses) { EXPECT_EQ(example(5).top_accuracy(), 1); }

TEST(Metrics, LargeScoresDoNotOverflow) {
  Metrics m(2);
  const std::vector<double> scores = {1000, 0};
  const std::vector<std::int32_t> labels = {1};
  m.add(scores, labels);
  EXPECT_EQ(m.log_loss(), 1000);
}

}  // namespace
}  // namespace headroom
