// Data with targets: tables beside pictures, arrays of numbers.
#include "data/targets.h"

#include <gtest/gtest.h>

#include "data/image.h"
#include "data/loader.h"
#include "data/npy.h"
#include "data/testing/bad_input.h"
#include "data/testing/pictures.h"

namespace headroom::testing {
namespace {

class Targets : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void put_array(const std::string& name, const Shape& shape, float step) const {
    NamedTensor tensor{.name = "", .type = {shape, DType::f32}, .bytes = {}};
    tensor.bytes.resize(static_cast<std::size_t>(tensor.type.bytes()));
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      const float value = step * static_cast<float>(i);
      std::memcpy(tensor.bytes.data() + i * 4, &value, 4);
    }
    write_npy(folder_.path() / name, tensor);
  }
  Dataset arrays(const DataOptions& options = {}) const {
    return load_dataset("npy:" + path("x.npy") + "," + path("y.npy"), options);
  }
  TemporaryFolder folder_;
};

TEST_F(Targets, ArraysGiveInputsAndTargetsOfTheSameItems) {
  put_array("x.npy", {21, 3}, 1);
  put_array("y.npy", {21, 2}, 10);
  const Dataset set = arrays();
  EXPECT_EQ(set.classes, 2);
  EXPECT_EQ(set.train.image, (Shape{1, 1, 3}));
  EXPECT_EQ(set.train.count(), 19);
  EXPECT_EQ(set.test.values, (std::vector<float>{27, 28, 29, 57, 58, 59})) << "items 9 and 19";
  EXPECT_EQ(set.test.targets, (std::vector<float>{180, 190, 380, 390}));
  EXPECT_FALSE(targets_are_labels(set));
  const Dataset few = arrays({.train_size = 2, .validation_tail = 4});
  EXPECT_EQ(few.train.targets, (std::vector<float>{0, 10, 20, 30}));
  EXPECT_EQ(few.test.targets, (std::vector<float>{320, 330, 340, 350, 360, 370, 400, 410}));
  EXPECT_EQ(few.test.values.size(), 12u);
}

TEST_F(Targets, ReachTheBatchesOfTheLoader) {
  put_array("x.npy", {20, 3}, 1);
  put_array("y.npy", {20, 2}, 10);
  const Dataset set = arrays();
  Loader loader(set.train, {.batch = 4, .shuffle = true, .seed = 5, .input = Shape{3}});
  const Batch* batch = loader.next();
  ASSERT_NE(batch, nullptr);
  for (std::int64_t i = 0; i < 4; ++i) {
    float target = 0;
    std::memcpy(&target, batch->labels + 2 * i, sizeof target);
    // Item n has the input 3 n and the target 20 n.
    EXPECT_EQ(target, static_cast<const float*>(batch->images)[3 * i] / 3 * 20);
  }
}

TEST_F(Targets, WrongArraysAreNamed) {
  put_array("x.npy", {20, 3}, 1);
  put_array("y.npy", {19}, 1);
  expect_rejected([&] { arrays(); }, {"x.npy has 20 items", "y.npy has 19"});
  put_array("x.npy", {5, 3}, 1);
  put_array("y.npy", {5}, 1);
  expect_rejected([&] { arrays(); }, {"5 items", "every tenth"});
  put_array("x.npy", {20, 3}, 1e38F);
  expect_rejected([&] { arrays(); }, {"x.npy: element 4", "fp32"});
  put_array("x.npy", {10, 1, 1, 2, 2}, 1);
  expect_rejected([&] { arrays(); }, {"10x1x1x2x2"});
  expect_rejected([&] { load_dataset("npy:x.npy", {}); }, {"two files"});
}

class TargetFolder : public Targets {
 protected:
  void SetUp() override {
    if (!can_decode(ImageFormat::png)) GTEST_SKIP() << "built without libpng";
    for (int i = 0; i < 20; ++i)
      folder_.put(fmt::format("set/{}/{}.png", i % 2 ? "odd" : "even", i), grey_png(4, 5, i));
  }
  void put_table(const std::string& text) const { folder_.put("set/targets.csv", text); }
  Dataset load(const DataOptions& options = {}) const {
    return load_dataset("images:" + path("set"), options);
  }
  void expect_refused(const std::string& table, std::initializer_list<std::string_view> parts) const {
    put_table(table);
    expect_rejected([&] { load(); }, parts);
  }
};

TEST_F(TargetFolder, RowsOfATableBelongToTheirPictures) {
  std::string table = "file,angle,speed\r\n";
  for (int i = 19; i >= 0; --i) table += fmt::format("{}/{}.png,{},-0.5\n", i % 2 ? "odd" : "even", i, 2 * i);
  put_table(table);
  const Dataset set = load();
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"angle", "speed"}));
  EXPECT_EQ(set.train.count(), 18);
  EXPECT_EQ(set.test.targets, (std::vector<float>{20, -0.5, 0, -0.5})) << "rows 10 and 20 of the table";
  EXPECT_EQ(set.test.pixels[0], 10);
  for (std::int64_t i = 0; i < set.train.count(); ++i)
    EXPECT_EQ(set.train.targets[std::size_t(2 * i)], 2 * set.train.pixels[std::size_t(20 * i)]);
  EXPECT_EQ(load({.train_size = 3}).train.targets.size(), 6u);
}

TEST_F(TargetFolder, TrainAndTestMayHaveATableEach) {
  for (const char* part : {"train", "test"})
    for (int i = 0; i < 2; ++i) folder_.put(fmt::format("two/{}/{}.png", part, i), grey_png(4, 5, i));
  folder_.put("two/train/targets.csv", "file,a\n0.png,1\n1.png,0\n");
  folder_.put("two/test/targets.csv", "file,a\n1.png,1\n");
  const Dataset set = load_dataset("images:" + path("two"), {});
  EXPECT_EQ(set.train.targets, (std::vector<float>{1, 0}));
  EXPECT_EQ(set.test.pixels[0], 1);
  EXPECT_TRUE(targets_are_labels(set));
  folder_.put("two/test/targets.csv", "file,b\n1.png,1\n");
  expect_rejected([&] { load_dataset("images:" + path("two"), {}); }, {"other targets"});
}

TEST_F(TargetFolder, WrongTablesAreNamedByLine) {
  expect_refused("", {"targets.csv", "no rows"});
  expect_refused("name,a\n", {"line 1", "header"});
  expect_refused("file,a\neven/0.png,1,2\n", {"line 2", "3 cells", "header has 2"});
  expect_refused("file,a\neven/0.png,x\n", {"line 2", "a", "x"});
  expect_refused("file,a\neven/0.png,1e39\n", {"line 2", "fp32"});
  expect_refused("file,a\n\neven/0.png,1\neven/0.png,1\n", {"line 4", "even/0.png once more"});
  expect_refused("file,a\neven/1.png,1\n", {"even/1.png", "not there"});
  expect_refused("file,a\neven/0.png,1\n", {"no picture for testing"});
}

}  // namespace
}  // namespace headroom::testing
