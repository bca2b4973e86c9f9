#include "train/feed.h"

#include <gtest/gtest.h>

#include <set>

namespace headroom {
namespace {

Split numbered(std::int64_t count) {
  Split split;
  split.image = {1, 2, 2};
  for (std::int64_t i = 0; i < count; ++i) {
    split.labels.push_back(static_cast<std::uint8_t>(i % 10));
    for (int k = 0; k < 4; ++k) split.pixels.push_back(static_cast<std::uint8_t>(4 * i + k));
  }
  return split;
}

struct Seen {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::vector<bool> ends;
  bool operator==(const Seen&) const = default;
};

LoaderOptions options(bool shuffle) {
  LoaderOptions o;
  o.batch = 7, o.epochs = 3, o.shuffle = shuffle, o.seed = 4;
  o.preprocess = Preprocess::raw();
  o.input = {4};
  return o;
}

Seen loaded(const Split& split, const LoaderOptions& o) {
  Seen seen;
  Loader loader(split, o);
  while (const Batch* b = loader.next()) {
    const auto* images = static_cast<const float*>(b->images);
    seen.pixels.insert(seen.pixels.end(), images, images + 4 * b->count);
    seen.labels.insert(seen.labels.end(), b->labels, b->labels + b->count);
    seen.ends.push_back(b->last_of_epoch);
  }
  return seen;
}

Seen fed(Device& device, Feed& feed) {
  Seen seen;
  while (const DeviceBatch* b = feed.next()) {
    std::vector<float> images(static_cast<std::size_t>(4 * b->count));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(b->count));
    device.download(images.data(), b->images, images.size() * sizeof(float));
    device.download(labels.data(), b->labels, labels.size() * sizeof(std::int32_t));
    seen.pixels.insert(seen.pixels.end(), images.begin(), images.end());
    seen.labels.insert(seen.labels.end(), labels.begin(), labels.end());
    seen.ends.push_back(b->last_of_epoch);
  }
  return seen;
}

void expect_the_loaders_batches(Device& device) {
  const Split split = numbered(25);
  for (bool shuffle : {false, true})
    for (std::int64_t first : {0, 2}) {
      LoaderOptions o = options(shuffle);
      o.first_epoch = first > 0 ? 1 : 0, o.first_batch = first;
      const Seen want = loaded(split, o);
      EXPECT_EQ(fed(device, *make_resident_feed(device, split, o, false)), want) << shuffle << first;
      for (bool pinned : {false, true})
        for (bool overlap : {false, true})
          for (bool reuse : {false, true})
            EXPECT_EQ(fed(device, *make_stream_feed(device, split, o, {false, pinned, overlap, reuse})), want)
                << shuffle << first << pinned << overlap << reuse;
    }
}

TEST(Feed, EveryWayBringsTheLoadersBatches) { expect_the_loaders_batches(*open_device("cpu", 2)); }

TEST(CudaFeed, EveryWayBringsTheLoadersBatches) {
  if (const GpuSurvey gpus = survey_gpus(); gpus.gpus.empty()) GTEST_SKIP() << gpus.why_not;
  expect_the_loaders_batches(*open_device("cuda"));
}

// Batches of a shuffled set that are gathered together: the same, and each stays where it is until as many
// are kept, at few addresses, so that work for them can be captured once.
void expect_batches_are_kept(Device& device) {
  const Split split = numbered(16 * 83 + 5);
  for (std::int64_t first : {0, 21}) {
    LoaderOptions o = options(true);
    o.batch = 16, o.first_batch = first;
    const Seen want = loaded(split, o);
    const auto feed = make_resident_feed(device, split, o, true);
    EXPECT_TRUE(feed->keeps_batches());
    EXPECT_EQ(fed(device, *feed), want);
    EXPECT_FALSE(make_resident_feed(device, split, o, false)->keeps_batches());

    const auto again = make_resident_feed(device, split, o, true);
    std::vector<DeviceBatch> epoch;
    std::set<const void*> places;
    std::size_t seen = 0;
    while (const DeviceBatch* b = again->next()) {
      epoch.push_back(*b), places.insert(b->images);
      const auto oldest =
          static_cast<std::size_t>(std::max<std::int64_t>(0, std::ssize(epoch) - Feed::kKeptBatches));
      for (std::size_t k = oldest; k < epoch.size(); ++k) {
        std::vector<std::int32_t> labels(static_cast<std::size_t>(epoch[k].count));
        device.download(labels.data(), epoch[k].labels, labels.size() * sizeof(std::int32_t));
        EXPECT_TRUE(
            std::equal(labels.begin(), labels.end(), want.labels.begin() + std::ptrdiff_t(seen + 16 * k)));
      }
      if (!b->last_of_epoch) continue;
      for (const DeviceBatch& kept : epoch) seen += static_cast<std::size_t>(kept.count);
      epoch.clear();
    }
    EXPECT_LE(places.size(), 2u * Feed::kKeptBatches);
  }
}

TEST(Feed, BatchesGatheredTogetherAreKept) { expect_batches_are_kept(*open_device("cpu", 2)); }

TEST(CudaFeed, BatchesGatheredTogetherAreKept) {
  if (const GpuSurvey gpus = survey_gpus(); gpus.gpus.empty()) GTEST_SKIP() << gpus.why_not;
  expect_batches_are_kept(*open_device("cuda"));
}

// Odd addresses, much memory, or a part of each batch: one at a time.
TEST(Feed, SomeBatchesAreGatheredOneByOne) {
  const auto device = open_device("cpu", 2);
  const Split split = numbered(100);
  LoaderOptions o = options(true);  // seven images of 16 bytes
  EXPECT_FALSE(make_resident_feed(*device, split, o, true)->keeps_batches());
  o.batch = 16;
  EXPECT_TRUE(make_resident_feed(*device, split, o, true)->keeps_batches());
  o.parts = 2;
  EXPECT_FALSE(make_resident_feed(*device, split, o, true)->keeps_batches());
}

TEST(Feed, TheCpuReadsWhereTheLoaderWrote) {
  const Split split = numbered(25);
  const auto device = open_device("cpu", 2);
  const auto feed = make_feed(*device, split, options(true), {});
  EXPECT_EQ(feed->how(), "host");
  EXPECT_EQ(feed->batches_per_epoch(), 4);
  EXPECT_EQ(fed(*device, *feed), loaded(split, options(true)));
}

}  // namespace
}  // namespace headroom
