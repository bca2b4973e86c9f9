// Damaged files from the user's side: incomplete data sets, weights of another model.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/gzip.h"
#include "data/safetensors.h"
#include "support/program.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

constexpr const char* kTrainImages = "train-images-idx3-ubyte";
constexpr const char* kTrainLabels = "train-labels-idx1-ubyte";

struct CliData : ProgramTest {
  std::map<std::string, std::string> files_ = idx_files(make_glyphs({.train = 64, .test = 32}));

  Words train(const std::string& model = "mlp:hidden=8") const {
    return {"train", model, "--data", "mnist", "--batch", "32", "--data-dir", folder().string()};
  }
  // The set with one file replaced.
  void put_with(const std::string& name, const std::string& bytes) const {
    for (const auto& [other, good] : files_)
      put("mnist/" + other, other == name ? std::string_view(bytes) : std::string_view(good));
  }
  void expect_damaged(const std::string& name, const std::string& bytes, const Words& parts) const {
    put_with(name, bytes);
    Words all = parts;
    all.push_back(name);
    expect_refused(train(), all);
  }
};

TEST_F(CliData, WholeIsTakenPlainAndZipped) {
  put_with("", "");
  const Json plain = succeed_json(train());
  for (const auto& [name, bytes] : files_) {
    std::filesystem::remove(file("mnist/" + name));
    put("mnist/" + name + ".gz", gzip(bytes));
  }
  const Json zipped = succeed_json(train());
  EXPECT_EQ(plain.at("accuracy"), zipped.at("accuracy"));
  EXPECT_EQ(plain.at("loss"), zipped.at("loss"));
}

TEST_F(CliData, FolderComesFromTheEnvironment) {
  put_with("", "");
  succeed({"train", "mlp:hidden=8", "--data", "mnist", "--batch", "32"},
          {{"HEADROOM_DATA", folder().string()}});
}

TEST_F(CliData, MissingSaysWhereItLookedAndWhatElseThereIs) {
  expect_refused(train(), {"no mnist here", "mnist", "--data-dir", "HEADROOM_DATA", "--data glyphs"});
  put_with("", "");
  std::filesystem::remove(file("mnist/t10k-labels-idx1-ubyte"));
  expect_refused(train(), {"not complete", "t10k-labels-idx1-ubyte", ".gz", "--data glyphs"});
  expect_refused({"train", "mlp", "--data", "mnist", "--data-dir", std::string(5000, 'x')},
                 {"no mnist here"});
}

TEST_F(CliData, TruncatedIsRefused) {
  const std::string& images = files_.at(kTrainImages);
  for (std::size_t length :
       {std::size_t{0}, std::size_t{3}, std::size_t{15}, std::size_t{16}, images.size() - 1})
    expect_damaged(kTrainImages, images.substr(0, length), {"truncated"});
  expect_damaged(kTrainLabels, files_.at(kTrainLabels).substr(0, 20), {"truncated"});
  expect_damaged(kTrainImages, images + "x", {"too long"});
}

TEST_F(CliData, WrongMagicIsRefused) {
  expect_damaged(kTrainImages, files_.at(kTrainLabels), {"0x00000801", "swapped"});
  expect_damaged(kTrainLabels, files_.at(kTrainImages), {"0x00000803", "swapped"});
  expect_damaged(kTrainImages, "<!DOCTYPE html><html>not found</html>", {"0x3c21444f"});
}

TEST_F(CliData, HeadersThatLieAreRefused) {
  const std::string& images = files_.at(kTrainImages);
  auto header = [&](std::int64_t count, std::int64_t rows) {
    return images.substr(0, 4) + big_endian(count) + big_endian(rows) + images.substr(12);
  };
  expect_damaged(kTrainImages, header(65, 28), {"announces"});
  expect_damaged(kTrainImages, header(0, 28), {"0 images"});
  expect_damaged(kTrainImages, header(0xFFFFFFFF, 28), {"4,294,967,295 images"});
  expect_damaged(kTrainImages, header(64, 0xFFFFFFFF), {"rows"});
  std::string few =
      files_.at(kTrainLabels).substr(0, 4) + big_endian(63) + files_.at(kTrainLabels).substr(8, 63);
  expect_damaged(kTrainLabels, few, {"64 images", "63 labels"});
}

TEST_F(CliData, LabelsOutOfRangeAreNamed) {
  std::string labels = files_.at(kTrainLabels);
  labels[8 + 17] = 10;
  expect_damaged(kTrainLabels, labels, {"label 17", "is 10", "0 to 9"});
}

TEST_F(CliData, DamagedGzipIsRefused) {
  const std::string zipped = gzip(files_.at(kTrainImages));
  expect_damaged(kTrainImages, zipped.substr(0, zipped.size() / 2), {"truncated gzip", "gzip -t"});
  expect_damaged(kTrainImages, zipped.substr(0, 10), {"truncated gzip"});
  std::string flipped = zipped;
  flipped[zipped.size() / 2] = static_cast<char>(flipped[zipped.size() / 2] ^ 0x55);
  expect_damaged(kTrainImages, flipped, {"corrupt gzip"});
  expect_damaged(kTrainImages, zipped + "tail", {"after the end of its gzip data"});
  expect_damaged(kTrainImages, gzip("not idx at all, but well packed"), {"not an IDX file"});
}

TEST_F(CliData, ImagesThatDoNotFitTheModelAreRefused) {
  files_ = idx_files(make_glyphs({.train = 64, .test = 32, .size = 64}));
  put_with("", "");
  expect_refused(train("lenet5"), {"1x64x64", "1x32x32", "larger"});
  expect_refused(train("mlp:hidden=8,input=784"), {"4096 values", "takes 784"});
  files_["t10k-images-idx3-ubyte"] = idx_images(make_glyphs({.train = 1, .test = 32}).test);
  put_with("", "");
  expect_refused(train(), {"training images are 1x64x64", "test images are 1x28x28"});
}

TEST_F(CliData, FewerImagesThanAskedForAreNamed) {
  put_with("", "");
  Words words = train();
  words.insert(words.end(), {"--train-size", "65"});
  expect_refused(words, {"65 training images", "only 64"});
}

struct CliWeights : ProgramTest {
  void SetUp() override { succeed(train({"--save", "w.safetensors"})); }
  Words train(const Words& more, const std::string& model = "mlp:hidden=8") const {
    Words words = {"train", model, "--train-size", "64", "--test-size", "32", "--batch", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(CliWeights, OfAnotherShapeNameTheTensor) {
  const Words parts = {"w.safetensors", "'hidden.weight'", "8x784", "9x784", "saved from model 'mlp:"};
  expect_refused(train({"--weights", "w.safetensors"}, "mlp:hidden=9"), parts);
  expect_refused({"eval", "mlp:hidden=9", "--weights", "w.safetensors"}, parts);
}

TEST_F(CliWeights, OfAnotherModelNameTheTensor) {
  expect_refused(train({"--weights", "w.safetensors"}, "lenet5"),
                 {"no tensor 'C1.weight'", "saved from model 'mlp:"});
  put("one.json", R"({"input": [784], "layers": [{"type": "linear", "name": "out", "units": 10}]})");
  expect_refused(train({"--weights", "w.safetensors"}, "one.json"), {"'out.weight'", "10x8", "10x784"});
}

TEST_F(CliWeights, WithATensorTooManyAreRefused) {
  TensorFile saved = read_safetensors(file("w.safetensors"));
  saved.tensors.push_back({"spare", {{1}, DType::f32}, std::vector<std::byte>(4)});
  write_safetensors(file("w.safetensors"), saved);
  expect_refused(train({"--weights", "w.safetensors"}), {"'spare'", "lacks"});
}

TEST_F(CliWeights, DamagedAreRefused) {
  const std::string good = read_file(file("w.safetensors"));
  auto expect_damaged = [&](const std::string& bytes, const Words& parts) {
    put("w.safetensors", bytes);
    expect_refused(train({"--weights", "w.safetensors"}), parts);
  };
  for (std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100}, good.size() - 1})
    expect_damaged(good.substr(0, length), {"w.safetensors"});
  expect_damaged(good + "x", {"1 bytes after its last tensor"});
  std::string broken = good;
  broken[8] = '[';
  expect_damaged(broken, {"not valid JSON"});
  expect_damaged(std::string(64, '\xff'), {"out of range"});
  expect_damaged("PK\x03\x04 a zip of something", {"safetensors"});
  expect_refused(train({"--weights", "missing.safetensors"}), {"cannot read missing.safetensors"});
  expect_refused(train({"--weights", "."}), {"folder"});
}

TEST_F(CliWeights, ForOtherClassesAreRefusedByEval) {
  succeed(train({"--save", "c.safetensors"}, "mlp:hidden=8,classes=10"));
  put("five.json", R"({"input": [784], "layers": [{"type": "linear", "name": "out", "units": 5}]})");
  TensorFile five{{{"out.weight", {{5, 784}, DType::f32}, std::vector<std::byte>(5 * 784 * 4)},
                   {"out.bias", {{5}, DType::f32}, std::vector<std::byte>(5 * 4)}},
                  {}};
  write_safetensors(file("five.safetensors"), five);
  expect_refused({"eval", "five.json", "--weights", "five.safetensors", "--test-size", "32"},
                 {"5 classes", "labelled 9"});
}

}  // namespace
}  // namespace headroom::testing
