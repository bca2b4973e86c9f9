// Networks from ONNX files in training and testing: written here message by message, then used like any
// other.
#include <gtest/gtest.h>

#include "base/random.h"
#include "models/onnx/file.h"
#include "models/onnx/imported.h"
#include "models/onnx/testing/model_maker.h"
#include "train/evaluate.h"

namespace headroom {
namespace {

using onnx::AttributeProto;
using onnx::testing::ModelMaker;

constexpr std::int64_t kPixels = 16, kHidden = 8, kClasses = 3;

void set(onnx::NodeProto& node, const char* name, std::int64_t value) {
  AttributeProto& a = *node.add_attribute();
  a.set_name(name), a.set_type(AttributeProto::INT), a.set_i(value);
}

std::vector<float> drawn(std::int64_t count, std::uint64_t stream) {
  const Philox random(3, stream);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(float(0.3 * random.normal(std::uint64_t(i))));
  return values;
}

// Images of 4x4 -> dense -> batch normalisation -> relu -> dense -> softmax.
Net classifier(const std::string& batch) {
  ModelMaker m;
  m.input("image", {batch, "1", "4", "4"});
  m.integers("flat", {0, -1});
  m.floats("w1", {kHidden, kPixels}, drawn(kHidden * kPixels, 1));
  m.floats("scale", {kHidden}, std::vector<float>(kHidden, 1));
  m.floats("zero", {kHidden}, std::vector<float>(kHidden, 0));
  m.floats("var", {kHidden}, std::vector<float>(kHidden, 0.5f));
  m.floats("w2", {kClasses, kHidden}, drawn(kClasses * kHidden, 2));
  m.floats("b2", {kClasses}, drawn(kClasses, 3));
  m.node("Reshape", {"image", "flat"}, {"row"});
  set(m.node("Gemm", {"row", "w1"}, {"h"}), "transB", 1);
  m.node("BatchNormalization", {"h", "scale", "zero", "zero", "var"}, {"n"});
  m.node("Relu", {"n"}, {"r"});
  set(m.node("Gemm", {"r", "w2", "b2"}, {"scores"}), "transB", 1);
  m.node("Softmax", {"scores"}, {"p"});
  m.output("p", {batch, "3"});
  const auto graph = std::make_shared<const ImportedGraph>(onnx::File::parse(m.bytes(), "classifier.onnx"),
                                                           std::map<std::string, std::int64_t>{});
  Net net(graph->name(), graph->item());
  net.imported = graph;
  return net;
}

// Rows of constant brightness, which the class determines.
Split images(std::int64_t count) {
  Split split;
  split.image = {1, 4, 4};
  for (std::int64_t i = 0; i < count; ++i) {
    split.labels.push_back(static_cast<std::uint8_t>(i % kClasses));
    for (std::int64_t p = 0; p < kPixels; ++p)
      split.pixels.push_back(static_cast<std::uint8_t>(p / 4 == i % kClasses ? 200 + i % 50 : 40 + p));
  }
  return split;
}

TEST(OnnxNetwork, AFixedBatchIsEvaluatedToTheLastImage) {
  const auto device = open_device("cpu", 1);
  const Split split = images(14);  // three batches of 4, and two images
  Engine open(classifier("N"), *device, {}), fixed(classifier("4"), *device, {});
  const EvalResult a = evaluate(open, split, Preprocess::scaled(), 14),
                   b = evaluate(fixed, split, Preprocess::scaled(), 64);
  EXPECT_EQ(a.images, 14);
  EXPECT_EQ(b.images, 14);
  EXPECT_EQ(a.accuracy, b.accuracy);
  EXPECT_NEAR(a.loss, b.loss, 1e-6);
  EXPECT_EQ(b.metrics.images(), 14);
}

TEST(OnnxNetwork, LearnsFromTheWeightsItCameWith) {
  const auto device = open_device("cpu", 1);
  Engine engine(classifier("N"), *device, {.update = {.momentum = 0.9}});
  const Split split = images(12);
  const double before = evaluate(engine, split, Preprocess::scaled(), 12).loss;
  std::vector<float> input;
  std::vector<std::int32_t> labels(split.labels.begin(), split.labels.end());
  for (std::uint8_t pixel : split.pixels) input.push_back(float(pixel) / 255);
  Engine::Ready& ready = engine.ready(Mode::train, 12);
  engine.set_learning_rate(0.05);
  std::vector<float> mean(kHidden), was = drawn(kClasses * kHidden, 2), now(was.size());
  for (int step = 1; step <= 30; ++step) engine.train_step(ready, input.data(), labels.data(), step);
  EXPECT_LT(evaluate(engine, split, Preprocess::scaled(), 12).loss, 0.5 * before);
  engine.storage().read("w2", now.data(), now.size() * sizeof(float));
  EXPECT_NE(now, was);
  // Running statistics have changed; the layer's shift, stored as the same zeros in the file, is separate.
  engine.storage().read("zero#2", mean.data(), mean.size() * sizeof(float));
  EXPECT_NE(mean, std::vector<float>(kHidden, 0));
  EXPECT_EQ(engine.weight_names().size(), 7u);
}

// A constant that a node computes from the batch belongs to one plan, not to all plans of the storage.
TEST(OnnxNetwork, ConstantsOfOneBatchAreNotThoseOfAnother) {
  ModelMaker m;
  m.input("x", {"N", "2"});
  m.node("Shape", {"x"}, {"s"});
  m.integers("zero", {0});
  m.node("Gather", {"s", "zero"}, {"n"});
  set(m.node("Cast", {"n"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  m.node("Add", {"x", "f"}, {"y"});
  m.output("y", {"N", "2"});
  const ImportedGraph graph(onnx::File::parse(m.bytes(), "n.onnx"), {});
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  Arena arena(*device);
  for (std::int64_t batch : {1, 3, 1}) {
    Graph g;
    const Lowered lowered = graph.lower(g, batch, {});
    g.outputs = {lowered.outputs.at(0).value};
    storage.prepare(g, 0);
    Executor executor(make_plan(g, {Mode::eval, batch, DType::f32, device->capabilities()}), storage, arena);
    const std::vector<float> x(static_cast<std::size_t>(2 * batch), 10);
    executor.bind(lowered.images, x.data());
    executor.run();
    EXPECT_EQ(executor.read(g.outputs[0]), std::vector<double>(x.size(), 10.0 + double(batch)));
  }
}

}  // namespace
}  // namespace headroom
