// The loader's batches do not depend on threads, depth, or where a resumed run starts.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "base/random.h"
#include "data/loader.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

Split noise(std::int64_t count, Shape image) {
  Split split;
  split.image = image;
  const Philox random(7);
  for (std::int64_t i = 0; i < count; ++i) split.labels.push_back(static_cast<std::uint8_t>(i % 10));
  split.pixels.resize(static_cast<std::size_t>(count * image.numel()));
  for (std::size_t i = 0; i < split.pixels.size(); ++i)
    split.pixels[i] = static_cast<std::uint8_t>(i < 65536 ? random.bits(i) : split.pixels[i - 65521]);
  return split;
}

LoaderOptions augmented(const Split& split) {
  LoaderOptions options{.batch = 16, .epochs = 3, .shuffle = true, .seed = 11};
  options.input = split.image;
  options.augment = {2, true};
  return options;
}

struct Copy {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::int64_t epoch;
  bool last;
  bool operator==(const Copy&) const = default;
};

std::vector<Copy> batches_of(const Split& split, const LoaderOptions& options) {
  Loader loader(split, options);
  std::vector<Copy> all;
  while (const Batch* b = loader.next()) {
    const auto* values = static_cast<const float*>(b->images);
    all.push_back({{values, values + b->count * options.input.numel()},
                   {b->labels, b->labels + b->count},
                   b->epoch,
                   b->last_of_epoch});
  }
  return all;
}

TEST(LoaderThreads, ChangeNothing) {
  const Split split = noise(100, {3, 8, 8});
  LoaderOptions options = augmented(split);
  const auto one = batches_of(split, options);
  ASSERT_EQ(one.size(), 21u);
  for (const int threads : {2, 3, 8})
    for (const int depth : {1, 4}) {
      options.threads = threads, options.depth = depth;
      EXPECT_TRUE(batches_of(split, options) == one) << threads << " threads, depth " << depth;
    }
}

TEST(LoaderThreads, StopAtAnyTime) {
  const Split split = noise(64, {1, 4, 4});
  LoaderOptions options = augmented(split);
  options.epochs = 1000, options.threads = 4;
  for (int taken = 0; taken < 30; ++taken) {
    Loader loader(split, options);
    for (int i = 0; i < taken; ++i) loader.next();
  }
}

TEST(LoaderResumed, SeesWhatAnUndisturbedRunSees) {
  const Split split = noise(100, {3, 8, 8});
  LoaderOptions options = augmented(split);
  const auto whole = batches_of(split, options);
  for (const auto& [epoch, batch] : {std::pair{0, 3}, {1, 0}, {1, 6}, {2, 5}, {1, 7}, {3, 0}}) {
    options.first_epoch = epoch, options.first_batch = batch;
    options.threads = 1 + batch % 2;
    const std::vector<Copy> rest(whole.begin() + epoch * 7 + batch, whole.end());
    EXPECT_TRUE(batches_of(split, options) == rest) << epoch << ", " << batch;
  }
  auto begin = [&](std::int64_t epoch, std::int64_t batch) {
    return [&split, options, epoch, batch]() mutable {
      options.first_epoch = epoch, options.first_batch = batch;
      Loader(split, options);
    };
  };
  expect_rejected(begin(-1, 0), {"epoch -1"});
  expect_rejected(begin(4, 0), {"epoch 4", "3 epochs of 7 batches"});
  expect_rejected(begin(0, 8), {"batch 8"});
  options.first_epoch = options.first_batch = 0;
  options.threads = 0;
  expect_rejected([&] { Loader(split, options); }, {"not 0"});
}

TEST(LoaderAugments, DifferentlyEveryEpochAndByTheSeed) {
  const Split split = noise(16, {3, 8, 8});
  LoaderOptions options = augmented(split);
  options.shuffle = false;
  const auto first = batches_of(split, options);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].labels, first[1].labels);
  EXPECT_NE(first[0].images, first[1].images);
  options.seed = 12;
  EXPECT_NE(batches_of(split, options)[0].images, first[0].images);
  options.augment = {};
  const auto plain = batches_of(split, options);
  EXPECT_EQ(plain[0].images, plain[1].images);
}

// The rate that small networks on a fast device need, on two cores.
TEST(TimingLoader, AugmentsTwentyThousandCifarImagesPerSecond) {
  const Split split = noise(50000, {3, 32, 32});
  LoaderOptions options{.batch = 128, .epochs = 1, .shuffle = true};
  options.input = split.image;
  options.preprocess = usual_preprocess("cifar10");
  options.augment = {4, true};
  for (const int threads : {1, 2}) {
    options.threads = threads;
    const auto start = std::chrono::steady_clock::now();
    Loader loader(split, options);
    std::int64_t images = 0;
    while (const Batch* b = loader.next()) images += b->count;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double rate = double(images) / taken.count();
    RecordProperty(fmt::format("images_per_s_{}_threads", threads), fmt::format("{:.0f}", rate));
    EXPECT_EQ(images, 50000);
    EXPECT_GT(rate, 20000) << threads << " threads";
  }
}

}  // namespace
}  // namespace headroom::testing
