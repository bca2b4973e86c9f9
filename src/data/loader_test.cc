#include "data/loader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

// Image i is filled with the byte i, so that a batch shows which images it holds.
Split numbered(int count, Shape image = {1, 3, 3}) {
  Split split;
  split.image = image;
  for (int i = 0; i < count; ++i) {
    split.labels.push_back(static_cast<std::uint8_t>(i % 10));
    split.pixels.insert(split.pixels.end(), static_cast<std::size_t>(image.numel()),
                        static_cast<std::uint8_t>(i));
  }
  return split;
}

LoaderOptions options_for(const Split& split) {
  LoaderOptions options;
  options.batch = 8;
  options.input = split.image;
  options.preprocess = Preprocess::raw();
  return options;
}

// The images of all epochs in order of arrival; also checks every batch.
std::vector<int> order_of(const Split& split, const LoaderOptions& options) {
  Loader loader(split, options);
  std::vector<int> order;
  std::int64_t in_epoch = 0, epoch = 0;
  while (const Batch* batch = loader.next()) {
    EXPECT_EQ(batch->epoch, epoch);
    for (std::int64_t i = 0; i < batch->count; ++i) {
      const auto image = static_cast<int>(static_cast<float*>(batch->images)[i * options.input.numel()]);
      EXPECT_EQ(batch->labels[i], image % 10);
      order.push_back(image);
    }
    in_epoch += batch->count;
    EXPECT_EQ(batch->last_of_epoch, in_epoch == split.count());
    if (batch->last_of_epoch) in_epoch = 0, ++epoch;
  }
  EXPECT_EQ(epoch, options.epochs);
  EXPECT_EQ(loader.next(), nullptr);
  return order;
}

std::vector<int> epoch_of(const std::vector<int>& order, std::ptrdiff_t epoch, std::ptrdiff_t count) {
  return {order.begin() + epoch * count, order.begin() + (epoch + 1) * count};
}

TEST(Loader, GoesInOrderWithoutShuffling) {
  const Split split = numbered(21);
  LoaderOptions options = options_for(split);
  options.epochs = 2;
  const auto order = order_of(split, options);
  ASSERT_EQ(order.size(), 42u);
  for (int i = 0; i < 42; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i % 21);
}

TEST(Loader, ShufflesEachEpochAnewAndShowsEveryImageOnce) {
  const Split split = numbered(101);
  LoaderOptions options = options_for(split);
  options.epochs = 4, options.shuffle = true, options.seed = 9;
  const auto order = order_of(split, options);
  ASSERT_EQ(order.size(), 404u);
  for (int epoch = 0; epoch < 4; ++epoch) {
    auto images = epoch_of(order, epoch, 101);
    if (epoch > 0) {
      EXPECT_NE(images, epoch_of(order, epoch - 1, 101));
    }
    std::sort(images.begin(), images.end());
    std::vector<int> all(101);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(images, all);
  }
}

TEST(Loader, OrderIsAFunctionOfSeedAndEpochAlone) {
  const Split split = numbered(60);
  LoaderOptions options = options_for(split);
  options.epochs = 3, options.shuffle = true;
  const auto order = order_of(split, options);
  options.batch = 7, options.depth = 1, options.epochs = 2;
  EXPECT_EQ(order_of(split, options), std::vector<int>(order.begin(), order.begin() + 120));
  options.seed = 1;
  EXPECT_NE(order_of(split, options), std::vector<int>(order.begin(), order.begin() + 120));
}

template <class T>
void expect_centred(DType dtype) {
  const Split split = numbered(5, {2, 3, 4});
  LoaderOptions options = options_for(split);
  options.batch = 5, options.input = {2, 6, 8}, options.dtype = dtype, options.preprocess = {};
  Loader loader(split, options);
  const Batch* batch = loader.next();
  ASSERT_NE(batch, nullptr);
  const auto* values = static_cast<const T*>(batch->images);
  for (int image = 0; image < 5; ++image)
    for (int plane = 0; plane < 2; ++plane)
      for (int row = 0; row < 6; ++row)
        for (int column = 0; column < 8; ++column) {
          const bool inside = row >= 1 && row < 4 && column >= 2 && column < 6;
          const double pixel = inside ? image : 0;
          EXPECT_EQ(*values++, static_cast<T>((pixel * (1.0 / 255) - 0.1307) / 0.3081));
        }
}

TEST(Loader, CentresAndNormalisesInFp32) { expect_centred<float>(DType::f32); }
TEST(Loader, CentresAndNormalisesInFp64) { expect_centred<double>(DType::f64); }

TEST(Loader, TakesFlatInputs) {
  const Split split = numbered(40);
  LoaderOptions options = options_for(split);
  options.input = {9};
  EXPECT_EQ(order_of(split, options).size(), 40u);
}

TEST(Loader, ABatchStaysUntouchedUntilTheNextCall) {
  const Split split = numbered(200);
  LoaderOptions options = options_for(split);
  options.batch = 4, options.epochs = 3;
  for (int depth : {1, 2, 5}) {
    options.depth = depth;
    Loader loader(split, options);
    EXPECT_EQ(loader.batches_per_epoch(), 50);
    for (int n = 0; const Batch* batch = loader.next(); ++n) {
      if (n % 40 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(static_cast<float*>(batch->images)[i * 9 + 8], float(n % 50 * 4 + i)) << depth;
    }
  }
}

TEST(Loader, StopsCleanlyAtAnyTime) {
  const Split split = numbered(64);
  LoaderOptions options = options_for(split);
  options.epochs = 1000;
  for (int taken = 0; taken < 40; ++taken) {
    Loader loader(split, options);
    for (int i = 0; i < taken; ++i) loader.next();
  }
}

TEST(Loader, HandsOutNothingForNoEpochs) {
  const Split split = numbered(10);
  LoaderOptions options = options_for(split);
  options.epochs = 0;
  EXPECT_EQ(Loader(split, options).next(), nullptr);
}

TEST(Loader, RejectsWhatCannotBeLoaded) {
  const Split split = numbered(10);
  const LoaderOptions good = options_for(split);
  auto with = [&](auto change) {
    return [&split, options = good, change]() mutable {
      change(options);
      Loader(split, options);
    };
  };
  expect_rejected(with([](auto& o) { o.batch = 11; }), {"batch of 11", "10 images"});
  expect_rejected(with([](auto& o) { o.batch = 0; }), {"batch of 0"});
  expect_rejected(with([](auto& o) { o.epochs = -1; }), {"-1 epochs"});
  expect_rejected(with([](auto& o) { o.depth = 0; }), {"at least one batch"});
  expect_rejected(with([](auto& o) { o.dtype = DType::f16; }), {"fp16"});
  expect_rejected(with([](auto& o) { o.preprocess.deviation = {0}; }), {"deviation of 0"});
  expect_rejected(with([](auto& o) { o.input = {1, 2, 3}; }), {"1x3x3", "1x2x3"});
}

TEST(RequireFit, TakesTheSameSizeOrALittleLarger) {
  EXPECT_NO_THROW(require_fit({1, 28, 28}, {1, 28, 28}));
  EXPECT_NO_THROW(require_fit({1, 28, 28}, {1, 32, 32}));
  EXPECT_NO_THROW(require_fit({1, 28, 28}, {784}));
  EXPECT_NO_THROW(require_fit({3, 32, 32}, {3 * 32 * 32}));
}

TEST(RequireFit, NamesBothShapes) {
  expect_rejected([] { require_fit({1, 28, 28}, {3, 28, 28}); }, {"1x28x28", "3x28x28", "channels"});
  expect_rejected([] { require_fit({1, 28, 28}, {1, 27, 28}); }, {"1x28x28", "1x27x28", "larger"});
  expect_rejected([] { require_fit({1, 28, 28}, {1, 28, 33}); }, {"1x28x28", "1x28x33", "smaller"});
  expect_rejected([] { require_fit({1, 28, 28}, {3, 224, 224}); }, {"1x28x28", "3x224x224"});
  expect_rejected([] { require_fit({1, 28, 28}, {1024}); }, {"1x28x28", "784", "1024"});
  expect_rejected([] { require_fit({1, 28, 28}, {28, 28}); }, {"1x28x28", "28x28"});
}

}  // namespace
}  // namespace headroom::testing
