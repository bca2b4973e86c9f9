#include "train/feed.h"

#include <gtest/gtest.h>

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
      EXPECT_EQ(fed(device, *make_resident_feed(device, split, o)), want) << shuffle << first;
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
