#include "data/idx.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <numeric>

#include "data/gzip.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (std::uint32_t value : values)
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

std::string images(std::uint32_t n, std::uint32_t height = 3, std::uint32_t width = 2) {
  std::string bytes = words({0x803, n, height, width});
  for (std::uint32_t i = 0; i < n * height * width; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string labels(std::uint32_t n, std::uint32_t classes = 10) {
  std::string bytes = words({0x801, n});
  for (std::uint32_t i = 0; i < n; ++i) bytes += static_cast<char>(i % classes);
  return bytes;
}

void put_set(const TemporaryFolder& folder, const std::string& set, std::uint32_t train, std::uint32_t test) {
  folder.put(set + "/train-images-idx3-ubyte", images(train));
  folder.put(set + "/train-labels-idx1-ubyte.gz", gzip(labels(train)));
  folder.put(set + "/t10k-images-idx3-ubyte.gz", gzip(images(test)));
  folder.put(set + "/t10k-labels-idx1-ubyte", labels(test));
}

TEST(Idx, ReadsPlainAndGzippedAlike) {
  const TemporaryFolder folder;
  const auto plain = read_idx_split(folder.put("i", images(30)), folder.put("l", labels(30)), 10);
  const auto packed =
      read_idx_split(folder.put("ig", gzip(images(30))), folder.put("lg", gzip(labels(30))), 10);
  EXPECT_EQ(plain.image, (Shape{1, 3, 2}));
  EXPECT_EQ(plain.count(), 30);
  EXPECT_EQ(plain.pixels[7], 7);
  EXPECT_EQ(plain.labels[13], 3);
  EXPECT_EQ(plain.pixels, packed.pixels);
  EXPECT_EQ(plain.labels, packed.labels);
}

TEST(Idx, RejectsDamage) {
  auto image = [](std::string bytes) { return [bytes] { parse_idx_images(bytes, "f"); }; };
  auto label = [](std::string bytes) { return [bytes] { parse_idx_labels(bytes, "f", 10); }; };
  expect_rejected(image(labels(4)), {"f begins with 0x00000801", "label file"});
  expect_rejected(label(images(4)), {"f begins with 0x00000803", "image file"});
  expect_rejected(image("<html>404</html>"), {"f begins with 0x3c68746d", "not an IDX file"});
  expect_rejected(image(""), {"f is truncated: 0 bytes"});
  expect_rejected(image(words({0x803, 4, 3})), {"f is truncated: 12 bytes", "takes 16"});
  expect_rejected(image(images(4).substr(0, 39)), {"f is truncated: 23 bytes", "announces 24"});
  expect_rejected(image(images(4) + "x"), {"f is too long: 25 bytes"});
  expect_rejected(label(labels(4).substr(0, 11)), {"f is truncated: 3 bytes"});
  expect_rejected(label(labels(4) + "x"), {"f is too long"});
  expect_rejected(image(words({0x803, 0, 28, 28})), {"f claims to hold 0 images"});
  expect_rejected(image(words({0x803, 1, 0, 28})), {"0 rows"});
  expect_rejected(image(words({0x803, 1, 28, 0})), {"0 columns"});
  expect_rejected(label(words({0x801, 0})), {"0 labels"});
  expect_rejected(image(words({0x803, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF})), {"4,294,967,295 images"});
  expect_rejected(image(words({0x803, 1, 1 << 30, 28})), {"rows per image", "damage"});
  expect_rejected(label(labels(20, 12)), {"label 10 of f is 10", "10 classes"});
}

TEST(Idx, RejectsCountsThatDiffer) {
  const TemporaryFolder folder;
  const auto i = folder.put("i", images(30)), l = folder.put("l", labels(29));
  expect_rejected([&] { read_idx_split(i, l, 10); }, {i.string(), "30 images", l.string(), "29 labels"});
}

TEST(Idx, NamesADamagedGzipFile) {
  const TemporaryFolder folder;
  const auto path = folder.put("i.gz", gzip(images(300)).substr(0, 60));
  expect_rejected([&] { read_idx_images(path); }, {path.string(), "truncated gzip"});
}

TEST(Datasets, AreFoundByNameInTheFolder) {
  const TemporaryFolder folder;
  put_set(folder, "mnist", 50, 20);
  const Dataset set = load_dataset("mnist", {.dir = folder.path()});
  EXPECT_EQ(set.name, "mnist");
  EXPECT_EQ(set.classes, 10);
  EXPECT_EQ(set.train.count(), 50);
  EXPECT_EQ(set.test.count(), 20);
}

// An evaluation needs no more.
TEST(Datasets, TestImagesAlone) {
  const TemporaryFolder folder;
  put_set(folder, "mnist", 50, 20);
  const auto remove = [&](const char* name) { std::filesystem::remove(folder.path() / "mnist" / name); };
  remove("train-images-idx3-ubyte"), remove("train-labels-idx1-ubyte.gz");
  expect_rejected([&] { load_dataset("mnist", {.dir = folder.path()}); }, {"not complete", "train-images"});
  const DataOptions alone{.dir = folder.path(), .train_size = 1, .test_alone = true, .image_size = 32};
  const Dataset set = load_dataset("mnist", alone);
  EXPECT_EQ(set.train.count(), 0);
  EXPECT_EQ(set.test.count(), 20);
  EXPECT_EQ(set.test.image, Shape({1, 32, 32}));
  remove("t10k-labels-idx1-ubyte");
  expect_rejected([&] { load_dataset("mnist", alone); }, {"not complete", "t10k-labels"});
}

TEST(Datasets, TruncateAndValidate) {
  const TemporaryFolder folder;
  put_set(folder, "fashion-mnist", 25, 20);
  auto load = [&](DataOptions options) {
    options.dir = folder.path();
    return load_dataset("fashion-mnist", options);
  };
  const Dataset all = load({}), few = load({.train_size = 7, .test_size = 20});
  EXPECT_EQ(few.train.count(), 7);
  EXPECT_EQ(few.train.pixels.size(), 42u);
  EXPECT_TRUE(std::equal(few.train.labels.begin(), few.train.labels.end(), all.train.labels.begin()));

  const Dataset held = load({.validation_tail = 5});
  EXPECT_EQ(held.train.count(), 20);
  EXPECT_EQ(held.test.labels, std::vector<std::uint8_t>(all.train.labels.end() - 5, all.train.labels.end()));
  EXPECT_EQ(held.test.pixels, std::vector<std::uint8_t>(all.train.pixels.end() - 30, all.train.pixels.end()));

  expect_rejected([&] { load({.train_size = 26}); }, {"26 training images", "only 25"});
  expect_rejected([&] { load({.test_size = 21}); }, {"21 test images", "only 20"});
  expect_rejected([&] { load({.train_size = 21, .validation_tail = 5}); }, {"21 training", "only 20"});
  expect_rejected([&] { load({.validation_tail = 25}); }, {"nothing to train on"});
  expect_rejected([&] { load({.train_size = -1}); }, {"-1"});
}

TEST(Datasets, SayWhatIsMissingAndWhatToTry) {
  const TemporaryFolder folder;
  expect_rejected([&] { load_dataset("mnist", {.dir = folder.path()}); },
                  {"no mnist here", (folder.path() / "mnist").string()});
  put_set(folder, "mnist", 5, 5);
  std::filesystem::remove(folder.path() / "mnist/t10k-labels-idx1-ubyte");
  try {
    load_dataset("mnist", {.dir = folder.path()});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("t10k-labels-idx1-ubyte.gz"), std::string::npos) << e.what();
    for (const char* way : {"`data-dir`", "HEADROOM_DATA", "`data` glyphs"})
      EXPECT_NE(e.hint().find(way), std::string::npos) << e.hint();
  }
  try {
    load_dataset("mnits", {});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.hint(), "did you mean 'mnist'?");
  }
  expect_rejected([] { load_dataset("mnist:size=3", {}); }, {"takes no settings"});
}

// The published files, if present.
TEST(Datasets, LoadAllOfMnistWithinASecond) {
  const char* named = std::getenv("HEADROOM_DATA");
  const std::filesystem::path dir =
      named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data";
  if (!std::filesystem::is_directory(dir / "mnist")) GTEST_SKIP() << "no mnist in " << dir;
  const auto start = std::chrono::steady_clock::now();
  const Dataset set = load_dataset("mnist", {.dir = dir});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(taken.count()));
  EXPECT_EQ(set.train.count(), 60000);
  EXPECT_EQ(set.test.count(), 10000);
  EXPECT_EQ(set.train.image, (Shape{1, 28, 28}));
  // The mean published with the set, which the default Preprocess subtracts.
  const double sum = std::accumulate(set.train.pixels.begin(), set.train.pixels.end(), 0.0);
  EXPECT_NEAR(sum / 255 / double(set.train.pixels.size()), 0.1307, 5e-5);
  EXPECT_EQ(set.test.labels[0], 7);
  EXPECT_EQ(set.test.labels[1], 2);
  EXPECT_LT(taken.count(), 5) << "one second on a quiet machine";
}

}  // namespace
}  // namespace headroom::testing
