#include "report/tensorboard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/testing/bad_input.h"
#include "report/testing/event_reader.h"

namespace headroom::testing {
namespace {

NamedTensor tensor_of(const std::vector<float>& values) {
  NamedTensor tensor{"w", {Shape{std::ssize(values)}, DType::f32}, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), tensor.bytes.size(), tensor.bytes.data());
  return tensor;
}

double count_of(const Histogram& h) { return std::accumulate(h.counts.begin(), h.counts.end(), 0.0); }

TEST(MaskedCrc32c, IsTheRotatedSumPlusAConstant) {
  EXPECT_EQ(masked_crc32c(""), 0xA282EAD8u);
  // 0xE3069283 rotated right by 15 bits is 0x2507C60D.
  EXPECT_EQ(masked_crc32c("123456789"), 0x2507C60Du + 0xA282EAD8u);
}

TEST(Histogram, CountsEveryValueOnce) {
  std::vector<float> values(301);
  std::iota(values.begin(), values.end(), 0.0f);
  const Histogram h = histogram_of(tensor_of(values));
  EXPECT_EQ(h.min, 0);
  EXPECT_EQ(h.max, 300);
  EXPECT_EQ(h.sum, 45150);
  EXPECT_EQ(h.sum_squares, 9045050);
  std::vector<double> limits, counts(30, 10);
  for (int i = 1; i <= 30; ++i) limits.push_back(10 * i);
  counts.back() = 11;  // 290 to 300
  EXPECT_EQ(h.limits, limits);
  EXPECT_EQ(h.counts, counts);
}

TEST(Histogram, HasOneBucketForEqualValues) {
  const Histogram h = histogram_of(tensor_of({0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(h.limits, std::vector{0.5});
  EXPECT_EQ(h.counts, std::vector{3.0});
}

TEST(Histogram, CountsFiniteValuesOnly) {
  const Histogram h = histogram_of(tensor_of({1, NAN, 2, INFINITY, -INFINITY, 3}), 2);
  EXPECT_EQ(h.limits, (std::vector{2.0, 3.0}));
  EXPECT_EQ(h.counts, (std::vector{1.0, 2.0}));
  EXPECT_TRUE(histogram_of(tensor_of({NAN, INFINITY})).counts.empty());
}

TEST(Histogram, HasNoEmptyRangeBetweenNeighbours) {
  const float one = 1, next = std::nextafter(1.0f, 2.0f), huge = 3e38f;
  for (const std::vector<float>& values : {std::vector{one, next, next}, std::vector{-huge, huge, huge}}) {
    const Histogram h = histogram_of(tensor_of(values));
    EXPECT_EQ(count_of(h), 3);
    EXPECT_EQ(h.counts.front(), 1);
    EXPECT_EQ(h.counts.back(), 2);
    EXPECT_EQ(std::adjacent_find(h.limits.begin(), h.limits.end(), std::greater_equal<>()), h.limits.end());
  }
}

TEST(EventFile, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  const Histogram h = histogram_of(tensor_of({1, 2, 4}), 3);
  std::filesystem::path path;
  {
    EventFile file(folder.path() / "a" / "b", 7);
    file.scalar("loss/step", 8, 0.1);
    file.scalar("loss/step", 9, -2.5);
    file.histogram("weights/w", 9, h);
    file.text("run", 7, "**model** mlp");
    path = file.path();
  }
  const ReadEvents read(path);
  EXPECT_EQ(read.version, "brain.Event:2");
  EXPECT_EQ(read.starts, std::vector<std::int64_t>{7});
  EXPECT_EQ(read.scalars, (ReadEvents::Points<double>{{"loss/step", {{8, 0.1f}, {9, -2.5}}}}));
  EXPECT_EQ(read.texts, (ReadEvents::Points<std::string>{{"run", {{7, "**model** mlp"}}}}));
  ASSERT_EQ(read.histograms.size(), 1u);
  const auto& [step, got] = read.histograms.at("weights/w").at(0);
  EXPECT_EQ(step, 9);
  EXPECT_EQ(std::tuple(got.min, got.max, got.sum, got.sum_squares, got.limits, got.counts),
            std::tuple(h.min, h.max, h.sum, h.sum_squares, h.limits, h.counts));
}

TEST(EventFile, HoldsWholeRecordsAtAnyTime) {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 0);
  file.scalar("loss", 1, 3);
  EXPECT_EQ(std::filesystem::file_size(file.path()), 0u) << "nothing is written before flush()";
  file.flush();
  const std::string whole = read_file(file.path());
  EXPECT_EQ(records_of(whole).size(), 3u);
  EXPECT_EQ(records_of(std::string_view(whole).substr(0, whole.size() - 1)).size(), 2u) << "a cut record";
  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 1;
  EXPECT_THROW(records_of(damaged), std::runtime_error);
}

TEST(EventFile, OfALaterRunComesLater) {
  const TemporaryFolder folder;
  const EventFile first(folder.path(), 0), second(folder.path(), 0);
  EXPECT_LT(first.path(), second.path());
}

TEST(EventFile, AFileInPlaceOfTheFolderIsRejected) {
  const TemporaryFolder folder;
  const auto taken = folder.put("taken", "x");
  for (const auto& wrong : {taken, taken / "below"})
    expect_rejected([&] { require_event_folder(wrong); },
                    {"cannot make the folder", "taken is not a folder"});
  require_event_folder(folder.path() / "new" / "board");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new")) << "nothing is left behind";
  expect_rejected([&] { EventFile(taken, 0); }, {"cannot make the folder", "taken"});
  expect_rejected([&] { EventFile(taken / "below", 0); }, {"cannot make the folder", "taken"});
}

}  // namespace
}  // namespace headroom::testing
