#include "data/text.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"
#include "data/loader.h"

namespace headroom {
namespace {

using testing::expect_rejected;

// Bytes that count up, so that each shows its position.
std::string counting(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += static_cast<char>(i % 251);
  return text;
}

class TextData : public ::testing::Test {
 protected:
  TextData() : file_(folder_.put("text", counting(1000))) {}
  Dataset load(DataOptions options) const { return load_dataset("text:" + file_.string(), options); }
  testing::TemporaryFolder folder_;
  std::filesystem::path file_;
};

TEST_F(TextData, TheLastTenthIsForTesting) {
  const Dataset set = load({.context = 8});
  EXPECT_EQ(set.train.text.size(), 900u);
  EXPECT_EQ(set.test.text.size(), 100u);
  EXPECT_EQ(set.train.count(), 899 / 8);
  EXPECT_EQ(set.test.count(), 99 / 8);
  EXPECT_EQ(set.train.labels_each(), 8);
  EXPECT_EQ(set.classes, 251);
  EXPECT_EQ(set.test.text[0], 900 % 251);
}

TEST_F(TextData, TheLabelOfEachByteIsTheNext) {
  const Dataset set = load({.context = 7});
  LoaderOptions options{.batch = 10, .epochs = 2, .shuffle = true, .seed = 5};
  options.input = Shape{7}, options.dtype = DType::i32;
  Loader loader(set.train, options);
  std::vector<int> seen(static_cast<std::size_t>(set.train.count()), 0);
  while (const Batch* b = loader.next())
    for (std::int64_t i = 0; i < b->count; ++i) {
      const auto* ids = static_cast<const std::int32_t*>(b->images) + 7 * i;
      for (int k = 0; k < 7; ++k) EXPECT_EQ(b->labels[7 * i + k], (ids[k] + 1) % 251);
      for (int k = 0; k < 6; ++k) EXPECT_EQ(ids[k + 1], b->labels[7 * i + k]);
      for (std::size_t item = 0; item < seen.size(); ++item)
        if (std::equal(ids, ids + 7, set.train.text.begin() + std::ptrdiff_t(7 * item))) ++seen[item];
    }
  for (int times : seen) EXPECT_GE(times, 2) << "each stretch once an epoch";
}

// The order is a function of the seed and the epoch; a resumed run gets the batches of an uninterrupted one.
TEST_F(TextData, ResumesWhereItStopped) {
  const Dataset set = load({.context = 16});
  LoaderOptions options{.batch = 6, .epochs = 3, .shuffle = true, .seed = 9};
  options.input = Shape{16}, options.dtype = DType::i32;
  std::vector<std::vector<std::int32_t>> all;
  Loader whole(set.train, options);
  while (const Batch* b = whole.next()) {
    const auto* ids = static_cast<const std::int32_t*>(b->images);
    all.emplace_back(ids, ids + 16 * b->count);
  }
  options.first_epoch = 1, options.first_batch = 2;
  Loader rest(set.train, options);
  std::size_t at = static_cast<std::size_t>(whole.batches_per_epoch() + 2);
  while (const Batch* b = rest.next()) {
    const auto* ids = static_cast<const std::int32_t*>(b->images);
    ASSERT_LT(at, all.size());
    EXPECT_EQ(std::vector<std::int32_t>(ids, ids + 16 * b->count), all[at++]);
  }
  EXPECT_EQ(at, all.size());
}

TEST_F(TextData, SizesCountStretches) {
  const Dataset set = load({.train_size = 3, .test_size = 2, .context = 10});
  EXPECT_EQ(set.train.count(), 3);
  EXPECT_EQ(set.test.count(), 2);
  expect_rejected([&] { load({.train_size = 1000, .context = 10}); }, {"1,000", "there are only 89"});
  EXPECT_EQ(load({.validation_tail = 4, .context = 10}).test.count(), 4);
}

TEST_F(TextData, TooShortOrMissing) {
  expect_rejected([&] { load({.context = 500}); }, {"1,000 bytes", "501"});
  expect_rejected([&] { load_dataset("text:" + file_.string() + ".no", {.context = 5}); }, {".no"});
  expect_rejected([] { load_dataset("text", {}); }, {"does not name a file"});
  expect_rejected([&] { load({.image_size = 28, .context = 5}); }, {"`image-size`"});
}

TEST_F(TextData, GoesToModelsThatReadTokensAlone) {
  const Dataset set = load({.context = 5});
  LoaderOptions options{.batch = 2};
  options.input = Shape{5}, options.dtype = DType::f32;
  expect_rejected([&] { Loader(set.train, options); }, {"text"});
  options.dtype = DType::i32, options.input = Shape{6};
  expect_rejected([&] { Loader(set.train, options); }, {"5", "6"});
  Split images;
  images.image = Shape{1, 1, 6}, images.pixels.resize(12), images.labels.resize(2);
  expect_rejected([&] { Loader(images, options); }, {"reads tokens"});
}

}  // namespace
}  // namespace headroom
