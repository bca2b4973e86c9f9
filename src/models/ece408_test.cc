#include <gtest/gtest.h>

#include "base/testing/bad_input.h"
#include "models/layers.h"
#include "models/zoo.h"

namespace headroom {
namespace {

using testing::expect_rejected;

// "conv1 12x66x66": the output of every layer in the forward pass.
std::vector<std::string> outputs(const std::string& model) {
  const Net net = find_net(model);
  std::vector<std::int64_t> batch = {1};
  batch.insert(batch.end(), net.input.begin(), net.input.end());
  Graph graph;
  const ValueId input =
      graph.add_value({.name = "images", .type = {Shape(batch), DType::f32}, .role = Role::input});
  lower(net, graph, input, {});
  std::vector<std::string> list;
  for (const Node& node : graph.nodes()) {
    const std::string line =
        fmt::format("{} {}", node.layer, graph.value(node.outputs[0]).type.shape.without_first().str());
    if (list.empty() || !list.back().starts_with(node.layer + " "))
      list.push_back(line);
    else
      list.back() = line;  // the layer's last node
  }
  return list;
}

using Lines = std::vector<std::string>;

TEST(Ece408, TermsHaveTheirShapes) {
  EXPECT_EQ(outputs("ece408"), outputs("ece408:term=2018fa"));
  EXPECT_EQ(outputs("ece408:term=2018fa"),
            (Lines{"conv1 12x66x66", "pool1 12x33x33", "conv2 24x27x27", "fc1 160", "fc2 10"}));
  EXPECT_EQ(outputs("ece408:term=2019sp"),
            (Lines{"conv1 6x44x44", "pool1 6x22x22", "conv2 16x18x18", "fc1 140", "fc2 10"}));
  EXPECT_EQ(outputs("ece408:term=2019fa"),
            (Lines{"conv1 12x66x66", "pool1 12x33x33", "conv2 24x29x29", "fc1 160", "fc2 10"}));
  EXPECT_EQ(outputs("ece408:term=2020fa"),
            (Lines{"conv1 4x80x80", "pool1 4x40x40", "conv2 16x34x34", "pool2 16x8x8", "fc1 32", "fc2 10"}));
  EXPECT_EQ(outputs("ece408:term=2017fa"), (Lines{"conv1 50x24x24", "pool1 50x12x12", "fc1 500", "fc2 10"}));
}

TEST(Ece408, TheFormOf2020HasBiasesAndRelu) {
  const Net before = find_net("ece408:term=2019sp"), after = find_net("ece408:term=2020fa");
  EXPECT_EQ(before.layers[0].options.text("activation"), "tanh");
  EXPECT_EQ(before.layers[0].options.integer("bias", 1), 0);
  EXPECT_FALSE(before.layers[2].options.has("activation"));
  EXPECT_EQ(after.layers[2].options.text("activation"), "relu");
  EXPECT_EQ(after.layers[2].options.integer("bias", 1), 1);
}

TEST(Ece408, TakesItsClassesAndNothingElseFromTheData) {
  EXPECT_EQ(outputs("ece408:classes=7").back(), "fc2 7");
  EXPECT_EQ(fitted_to("ece408:term=2019sp", {3, 32, 32}, 5), "ece408:classes=5,term=2019sp");
  expect_rejected([] { find_net("ece408:term=2016fa"); }, {"term", "'2016fa'"});
  EXPECT_EQ(train_defaults("ece408:term=2020fa").pixels, "raw");
}

TEST(Autoencoder, IsAMirrorImage) {
  EXPECT_EQ(outputs("autoencoder"), (Lines{"encode1 256", "code 64", "decode1 256", "out 784"}));
  EXPECT_EQ(outputs("autoencoder:hidden=30x20x5,input=49"),
            (Lines{"encode1 30", "encode2 20", "code 5", "decode1 20", "decode2 30", "out 49"}));
  EXPECT_EQ(outputs("autoencoder:hidden=9"), (Lines{"code 9", "out 784"}));
  const Net net = find_net("autoencoder:activation=tanh");
  EXPECT_EQ(net.loss, kReconstruction);
  EXPECT_EQ(net.layers.front().options.text("activation"), "tanh");
  EXPECT_EQ(net.layers.back().options.text("activation"), "sigmoid") << "its output is a picture of 0 to 1";
}

TEST(Autoencoder, HasNoClasses) {
  EXPECT_EQ(fitted_to("autoencoder", {1, 7, 9}, 4), "autoencoder:input=63");
  expect_rejected([] { find_net("autoencoder:classes=4"); }, {"'autoencoder'", "'classes'"});
}

TEST(LenetCaffe, IsTheOneOfTheExample) {
  EXPECT_EQ(outputs("lenet-caffe"),
            (Lines{"conv1 20x24x24", "pool1 20x12x12", "conv2 50x8x8", "pool2 50x4x4", "ip1 500", "ip2 10"}));
  for (const Layer& layer : find_net("lenet-caffe").layers)
    EXPECT_TRUE(layer.type == "max_pool" || layer.options.text("init") == "xavier") << layer.name;
  EXPECT_EQ(fitted_to("lenet-caffe", {3, 28, 28}, 7), "lenet-caffe:classes=7,channels=3");
  EXPECT_EQ(outputs("lenet-caffe:classes=7,channels=3").back(), "ip2 7");
}

TEST(FittedTo, DecidesWhatTheUserDidNot) {
  EXPECT_EQ(fitted_to("mlp", {3, 32, 32}, 10), "mlp:classes=10,input=3072");
  EXPECT_EQ(fitted_to("mlp:hidden=8,input=100", {3, 32, 32}, 4), "mlp:classes=4,hidden=8,input=100");
  EXPECT_EQ(fitted_to("lenet5:classes=3,channels=2", {1, 28, 28}, 10), "lenet5:classes=3,channels=2");
  EXPECT_EQ(fitted_to("mine.json", {1, 28, 28}, 10), "mine.json") << "a file says all by itself";
}

}  // namespace
}  // namespace headroom
