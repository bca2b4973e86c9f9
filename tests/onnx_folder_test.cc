// The folder of foreign ONNX files: operators with stored results, whole graphs, trained networks with an
// accuracy measured by another evaluator.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "data/cifar.h"
#include "data/dataset.h"
#include "data/tensor_values.h"
#include "models/onnx/imported.h"
#include "support/program.h"
#include "train/inference.h"

namespace headroom::testing {
namespace {

std::filesystem::path data_folder() {
  if (const char* set = std::getenv("HEADROOM_DATA")) return set;
  return std::filesystem::path(HEADROOM_SOURCE_DIR) / ".." / "shared" / "data";
}

struct OnnxFolder : ProgramTest {
  void SetUp() override {
    if (!std::filesystem::is_directory(data_folder() / "onnx"))
      GTEST_SKIP() << "no folder " << (data_folder() / "onnx").string() << "; set HEADROOM_DATA";
  }

  // The verb's own report. Cases that may be skipped are named here, each with a word of its reason.
  void expect_cases(const std::string& name, std::size_t count, const Environment& skips,
                    const Words& more = {}) {
    Words words = {"run", "--cases", (data_folder() / "onnx" / name).string(), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    const Json json = Json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.out << outcome.err;
    fmt::print("{}: {} passed, {} failed, {} skipped\n", name, json["passed"].get<int>(),
               json["failed"].get<int>(), json["skipped"].get<int>());
    EXPECT_EQ(json["cases"].size(), count);
    for (const Json& one : json["cases"]) {
      const auto the_case = one["case"].get<std::string>(), reason = one["reason"].get<std::string>();
      if (one["end"] == "passed") continue;
      const auto known = skips.find(the_case);
      const bool expected =
          one["end"] == "skipped" && known != skips.end() && reason.find(known->second) != std::string::npos;
      EXPECT_TRUE(expected) << the_case << " " << one["end"] << ": " << reason;
      fmt::print("  {} {}: {}\n", the_case, one["end"].get<std::string>(), reason);
    }
  }
};

TEST_F(OnnxFolder, OperatorsAnswerAsStored) { expect_cases("node", 53, {}); }
TEST_F(OnnxFolder, EarlyExportsAnswerAsStored) { expect_cases("pytorch", 16, {}); }
TEST_F(OnnxFolder, WholeGraphsAnswerAsStored) { expect_cases("light", 5, {}); }

// The model's input format: (x / 255 - mean) / deviation, by channel; without a divisor, unchanged.
struct Trained {
  const char *file, *data;
  double divisor;
  std::vector<double> mean, deviation;
  double accuracy;       // of the whole test set
  std::int64_t correct;  // of its first 500 images, by onnxruntime 1.31
};

const std::vector<Trained>& trained() {
  static const std::vector<double> mnist_mean = {0.1307}, mnist_deviation = {0.3081};
  static const std::vector<Trained> list = {
      {"mnist-8.onnx", "mnist", 1, {0}, {1}, 0.9891, 493},
      {"cnn_mnist_pytorch.onnx", "mnist", 255, mnist_mean, mnist_deviation, 0.9907, 493},
      {"cnn_max_mninst3.onnx", "mnist", 255, {0}, {1}, 0.9804, 494},
      {"lenet_4_8_32.onnx", "mnist", 255, mnist_mean, mnist_deviation, 0.9878, 494},
      {"mnist-net_256x2.onnx", "mnist", 255, {0}, {1}, 0.9808, 491},
      {"mnist5x20_leaky_relu.onnx", "mnist", 255, {0}, {1}, 0.9451, 474},
      {"cifar10-resnet_2b.onnx",
       "cifar10",
       255,
       {0.4914, 0.4822, 0.4465},
       {0.2471, 0.2435, 0.2616},
       0.6925,
       345}};
  return list;
}

NamedTensor images_of(const Split& split, std::int64_t count, const Trained& t, const PortType& port) {
  const auto item = static_cast<std::size_t>(split.image.numel());
  const std::size_t plane = item / static_cast<std::size_t>(split.image[0]);
  std::vector<float> values(static_cast<std::size_t>(count) * item);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i % item / plane;
    values[i] = static_cast<float>((double(split.pixels[i]) / t.divisor - t.mean.at(channel)) /
                                   t.deviation.at(channel));
  }
  // One channel: the same pixels in the same order, wherever the model has that axis.
  NamedTensor images{port.name, {port.shape, DType::f32}, {}};
  images.type.shape[0] = count;
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  images.bytes.assign(bytes, bytes + values.size() * sizeof(float));
  return images;
}

std::int64_t correct_of(const NamedTensor& scores, const Split& split, std::int64_t count) {
  const std::int64_t classes = scores.type.shape.numel() / count;
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (value_at(scores, i * classes + c) > value_at(scores, i * classes + best)) best = c;
    correct += best == split.labels[static_cast<std::size_t>(i)];
  }
  return correct;
}

constexpr std::int64_t kImages = 500;

Split images_for(const Trained& t) {
  if (std::string(t.data) == "cifar10")
    return read_cifar({data_folder() / "cifar-10" / "test_sample_500.bin.gz"});
  DataOptions options;
  options.dir = data_folder().string();
  options.train_size = 1;
  options.test_size = kImages;
  return load_dataset(t.data, options).test;
}

// Some hundred images, to be quick; the number of correct ones must equal another program's exactly.
TEST_F(OnnxFolder, TrainedNetworksAreAsGoodAsMeasuredElsewhere) {
  const auto device = open_device("cpu", 0);
  for (const Trained& t : trained()) {
    SCOPED_TRACE(t.file);
    const Split test = images_for(t);
    ASSERT_EQ(test.count(), kImages);
    Engine engine(read_onnx((data_folder() / "onnx" / "models" / t.file).string()), *device, {});
    Inference inference(engine);
    ASSERT_EQ(inference.inputs().size(), 1u);
    const auto scores = inference.run({images_of(test, kImages, t, inference.inputs()[0])});
    const std::int64_t correct = correct_of(scores[0], test, kImages);
    fmt::print("{}: {} of {} images, {:.4f} of all\n", t.file, correct, kImages, t.accuracy);
    EXPECT_EQ(correct, t.correct);
  }
}

// Two outputs of a detector whose nodes compute its shapes; it runs and returns what the file declares.
TEST_F(OnnxFolder, ADetectorHasTwoOutputs) {
  const auto device = open_device("cpu", 0);
  Engine engine(read_onnx((data_folder() / "onnx" / "models" / "ultraface-slim-320.onnx").string()), *device,
                {});
  Inference inference(engine);
  ASSERT_EQ(inference.outputs().size(), 2u);
  const PortType& input = inference.inputs().at(0);
  NamedTensor picture{input.name, {input.shape, DType::f32}, {}};
  picture.bytes.resize(static_cast<std::size_t>(picture.type.bytes()));
  const auto outputs = inference.run({picture});
  EXPECT_EQ(outputs[0].type.shape, (Shape{1, 4420, 2}));
  EXPECT_EQ(outputs[1].type.shape, (Shape{1, 4420, 4}));
  EXPECT_NEAR(value_at(outputs[0], 0) + value_at(outputs[0], 1), 1, 1e-5);
}

}  // namespace
}  // namespace headroom::testing
