#include "data/cifar.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "data/gzip.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

// Record i: label i % 10, and every pixel the byte i.
std::string records(int count, int first = 0) {
  std::string bytes;
  for (int i = first; i < first + count; ++i) {
    bytes += static_cast<char>(i % 10);
    bytes.append(static_cast<std::size_t>(kCifarRecord - 1), static_cast<char>(i));
  }
  return bytes;
}

void put_set(const TemporaryFolder& folder, const std::string& below) {
  for (int i = 1; i <= 5; ++i) {
    const std::string name = fmt::format("{}/data_batch_{}.bin", below, i);
    const std::string bytes = records(4, 10 * i);
    folder.put(i % 2 == 0 ? name + ".gz" : name, i % 2 == 0 ? gzip(bytes) : bytes);
  }
  folder.put(below + "/test_batch.bin", records(3));
}

TEST(Cifar, ReadsThePublishedFilesInOrder) {
  for (const char* below : {"cifar-10", "cifar-10/cifar-10-batches-bin"}) {
    const TemporaryFolder folder;
    put_set(folder, below);
    const Dataset set = load_dataset("cifar10", {.dir = folder.path()});
    EXPECT_EQ(set.classes, 10);
    EXPECT_EQ(set.class_names[0], "airplane");
    EXPECT_EQ(set.class_names[9], "truck");
    ASSERT_EQ(set.train.count(), 20);
    EXPECT_EQ(set.test.count(), 3);
    EXPECT_EQ(set.train.image, (Shape{3, 32, 32}));
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(set.train.labels[std::size_t(i)], i % 4);
      EXPECT_EQ(set.train.pixels[std::size_t(i) * 3072 + 3071], 10 * (i / 4 + 1) + i % 4);
    }
  }
}

TEST(Cifar, TestImagesAlone) {
  const TemporaryFolder folder;
  folder.put("cifar-10/test_batch.bin", records(3));
  const Dataset set = load_dataset("cifar10", {.dir = folder.path(), .test_alone = true});
  EXPECT_EQ(set.train.count(), 0);
  EXPECT_EQ(set.test.count(), 3);
}

TEST(Cifar, OneFileIsSplitAtItsLastTenth) {
  const TemporaryFolder folder;
  for (const bool zipped : {false, true}) {
    const auto path = folder.put("some.bin", zipped ? gzip(records(35)) : records(35));
    const Dataset set = load_dataset("cifar10:" + path.string(), {});
    EXPECT_EQ(set.train.count(), 32);
    ASSERT_EQ(set.test.count(), 3);
    EXPECT_EQ(set.test.labels[0], 2);
    EXPECT_EQ(set.test.pixels[0], 32);
    EXPECT_EQ(set.train.pixels.size(), 32u * 3072);
  }
  const auto two = folder.put("two.bin", records(2)), one = folder.put("one.bin", records(1));
  EXPECT_EQ(read_cifar_file(two).test.count(), 1);
  expect_rejected([&] { read_cifar_file(one); }, {one.string(), "single record"});
}

TEST(Cifar, RejectsDamageNamingFileAndRecord) {
  auto parse = [](std::string bytes) {
    return [bytes] {
      Split split;
      parse_cifar(bytes, "f", split);
    };
  };
  expect_rejected(parse(""), {"f is empty"});
  expect_rejected(parse(records(2) + "x"), {"f is damaged", "6,147 bytes", "2 records", "1 bytes more"});
  expect_rejected(parse(records(1).substr(0, 100)), {"f is damaged", "0 records", "100 bytes more"});
  std::string wrong = records(5);
  wrong[3 * kCifarRecord] = 10;
  expect_rejected(parse(wrong), {"record 3 of f", "label 10", "0 to 9"});
  wrong[3 * kCifarRecord] = char(255);
  expect_rejected(parse(wrong), {"label 255"});
}

TEST(Cifar, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  expect_rejected([&] { load_dataset("cifar10", {.dir = folder.path()}); },
                  {"no cifar10 here", (folder.path() / "cifar-10").string()});
  put_set(folder, "cifar-10");
  std::filesystem::remove(folder.path() / "cifar-10/data_batch_3.bin");
  try {
    load_dataset("cifar10", {.dir = folder.path()});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("data_batch_3.bin.gz"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("headroom data fetch cifar10"), std::string::npos) << e.hint();
  }
  expect_rejected([&] { load_dataset("cifar10:/nowhere/at/all", {}); }, {"/nowhere/at/all"});
}

// Records of the published files, if present.
TEST(Cifar, ReadsRealRecords) {
  const char* named = std::getenv("HEADROOM_DATA");
  const std::filesystem::path dir =
      named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data";
  const auto path = dir / "cifar-10/train_sample_500.bin.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const Dataset set = load_dataset("cifar10:" + path.string(), {});
  EXPECT_EQ(set.train.count(), 450);
  EXPECT_EQ(set.test.count(), 50);
  // The first image of data_batch_1 is a frog, the next two are trucks.
  EXPECT_EQ(set.class_names[set.train.labels[0]], "frog");
  EXPECT_EQ(set.class_names[set.train.labels[1]], "truck");
  EXPECT_EQ(set.class_names[set.train.labels[2]], "truck");
}

}  // namespace
}  // namespace headroom::testing
