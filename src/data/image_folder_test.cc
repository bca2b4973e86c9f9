#include "data/image_folder.h"

#include <gtest/gtest.h>

#include "data/image.h"
#include "data/testing/bad_input.h"
#include "data/testing/pictures.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

class ImageFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_decode(ImageFormat::png)) GTEST_SKIP() << "built without libpng";
  }
  // Picture i of a class is named for i, and filled with `value` + i.
  void put_class(const std::string& name, int count, int value) const {
    for (int i = 0; i < count; ++i)
      folder_.put(fmt::format("set/{}/{:03}.png", name, i), grey_png(4, 5, value + i));
  }
  Dataset load(const DataOptions& options = {}) const {
    return load_dataset("images:" + (folder_.path() / "set").string(), options);
  }
  void expect_refused(std::initializer_list<std::string_view> parts, const DataOptions& options = {}) const {
    expect_rejected([&] { load(options); }, parts);
  }
  fs::path at(const std::string& name) const { return folder_.path() / "set" / name; }

  TemporaryFolder folder_;
};

TEST_F(ImageFolder, EveryTenthPictureIsForTesting) {
  put_class("cat", 20, 0);
  put_class("ant", 12, 100);
  folder_.put("set/cat/.DS_Store", "junk");
  const Dataset set = load();
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(set.classes, 2);
  EXPECT_EQ(set.train.image, (Shape{1, 4, 5}));
  EXPECT_EQ(set.train.count(), 29);
  EXPECT_EQ(set.test.labels, (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_EQ(set.test.pixels[0], 109);
  EXPECT_EQ(set.test.pixels[20], 9);
  EXPECT_EQ(set.test.pixels[40], 19);
  // Interleaved classes: the first items of a split include all of them.
  EXPECT_EQ(std::vector<std::uint8_t>(set.train.labels.begin(), set.train.labels.begin() + 4),
            (std::vector<std::uint8_t>{0, 1, 0, 1}));
  const Dataset few = load({.train_size = 3, .test_size = 1});
  EXPECT_EQ(few.train.labels, (std::vector<std::uint8_t>{0, 1, 0}));
  EXPECT_EQ(few.test.count(), 1);
  expect_refused({"30 training images", "only 29"}, {.train_size = 30});
}

TEST_F(ImageFolder, TrainAndTestAreTheSplitWhereBothAreThere) {
  put_class("train/a", 2, 0);
  put_class("train/b", 3, 50);
  put_class("test/b", 1, 90);
  const Dataset set = load();
  EXPECT_EQ(set.train.count(), 5);
  EXPECT_EQ(set.test.labels, (std::vector<std::uint8_t>{1}));
  put_class("test/c", 1, 90);
  expect_refused({"class 'c'", at("train").string()});
}

TEST_F(ImageFolder, AnyColourMakesAllOfThemColoured) {
  put_class("a", 10, 0);
  folder_.put("set/a/002.png", png(4, 5, 3, std::vector<std::uint8_t>(60, 77)));
  const Dataset set = load({.train_size = 1});
  EXPECT_EQ(set.train.image, (Shape{3, 4, 5}));
}

TEST_F(ImageFolder, OfDifferentSizesNeedResizing) {
  put_class("a", 10, 40);
  folder_.put("set/a/003.png", grey_png(6, 5, 43));
  expect_refused({at("a/003.png").string(), "6x5", "4x5"});
  const Dataset set = load({.image_size = 8, .image_width = 6});
  EXPECT_EQ(set.train.image, (Shape{1, 8, 6}));
  for (std::size_t i = 0; i < set.train.pixels.size(); ++i) EXPECT_EQ(set.train.pixels[i], 40 + i / 48);
}

TEST_F(ImageFolder, DamageInTheMiddleIsNamed) {
  put_class("a", 20, 0);
  put_class("b", 20, 0);
  const std::string whole = grey_png(4, 5, 7);
  folder_.put("set/b/007.png", whole.substr(0, 50));
  expect_refused({at("b/007.png").string(), "damaged PNG"});
  folder_.put("set/b/007.png", "");
  expect_refused({at("b/007.png").string(), "empty"});
  folder_.put("set/b/007.png", "not a picture");
  expect_refused({at("b/007.png").string(), "neither"});
  fs::remove(at("b/007.png"));
  fs::create_symlink("/nowhere/at/all", at("b/007.png"));
  expect_refused({at("b/007.png").string(), "cannot read"});
}

TEST_F(ImageFolder, OfMoreClassesThanALabelHoldsAreRefused) {
  for (int i = 0; i < 257; ++i) put_class(fmt::format("class{}", i), 1, 0);
  expect_refused({"257 classes", "256"});
}

TEST_F(ImageFolder, OfAnotherLayoutAreRefused) {
  expect_refused({"no folder"});
  fs::create_directories(at(""));
  expect_refused({"does not hold a folder"});
  put_class("a", 3, 0);
  expect_refused({"no picture for testing"});
  put_class("a", 10, 0);
  fs::create_directories(at("empty"));
  expect_refused({at("empty").string(), "is empty"});
  fs::remove(at("empty"));
  folder_.put("set/list.txt", "x");
  expect_refused({at("list.txt").string()});
  fs::remove(at("list.txt"));
  fs::create_directories(at("a/deep"));
  expect_refused({at("a/deep").string(), "folder within a class"});
  expect_rejected([] { load_dataset("images", {}); }, {"does not name a folder"});
  expect_rejected([] { load_dataset("images:", {}); }, {"does not name a folder"});
}

TEST_F(ImageFolder, OutsidePicturesGetTheLabelsAndTheSizeOfTheData) {
  put_class("7", 2, 50);
  put_class("2", 3, 10);
  const Dataset digits = load_dataset("glyphs", {.train_size = 10, .test_size = 10});
  const Split all = read_outside_images(folder_.path() / "set", digits, ResizeRule::edge);
  EXPECT_EQ(all.image, (Shape{1, 28, 28}));
  EXPECT_EQ(all.labels, (std::vector<std::uint8_t>{2, 7, 2, 7, 2}))
      << "every picture, none kept for training";
  EXPECT_EQ(all.pixels[0], 10);
  EXPECT_EQ(all.pixels[28 * 28], 50);
  EXPECT_EQ(all.pixels[4 * 28 * 28], 12);
}

TEST_F(ImageFolder, OutsideColoursBecomeGrey) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 4 * 5; ++i) pixels.insert(pixels.end(), {100, 200, 50});
  folder_.put("set/3/a.png", png(4, 5, 3, pixels));
  const Dataset digits = load_dataset("glyphs", {.train_size = 10, .test_size = 10});
  const Split all = read_outside_images(folder_.path() / "set", digits, ResizeRule::edge);
  EXPECT_EQ(all.image, (Shape{1, 28, 28}));
  EXPECT_EQ(all.pixels[100], 153);  // 0.299 * 100 + 0.587 * 200 + 0.114 * 50
}

TEST_F(ImageFolder, OutsidePicturesOfUnknownClassesAreRefused) {
  const Dataset digits = load_dataset("glyphs", {.train_size = 10, .test_size = 10});
  put_class("7", 1, 0);
  put_class("cat", 1, 0);
  expect_rejected([&] { read_outside_images(folder_.path() / "set", digits, ResizeRule::edge); },
                  {"no class 'cat'", "glyphs"});
  expect_rejected([&] { read_outside_images(folder_.path() / "none", digits, ResizeRule::edge); },
                  {"no folder"});
}

}  // namespace
}  // namespace headroom::testing
