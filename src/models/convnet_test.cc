#include "models/convnet.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/bad_input.h"
#include "models/layers.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;
using testing::expect_rejected;

const std::vector<std::string> kNames = {"alexnet", "overfeat",   "vgg",      "googlenet",
                                         "resnet",  "squeezenet", "mobilenet"};

Shape output_of(const std::string& model) {
  const Net net = find_net(model);
  Graph graph;
  Integers dims = {2};
  dims.insert(dims.end(), net.input.begin(), net.input.end());
  const ValueId images = graph.add_value({.name = "images",
                                          .type = {Shape(dims), DType::f32},
                                          .role = Role::input,
                                          .producer = kNone,
                                          .init = {},
                                          .layer = {}});
  return graph.value(lower(net, graph, images, {.training = true})).type.shape;
}

const Layer* find_layer(const Net& net, const std::string& name) {
  const auto it = std::ranges::find(net.layers, name, &Layer::name);
  return it == net.layers.end() ? nullptr : &*it;
}

std::int64_t count(const Net& net, const std::string& type) {
  return std::ranges::count(net.layers, type, &Layer::type);
}

TEST(ConvNet, PhotographsInClassesOut) {
  for (const std::string& name : kNames) {
    EXPECT_EQ(find_net(name).input, (name == "overfeat" ? Integers{3, 231, 231} : Integers{3, 224, 224}));
    EXPECT_EQ(output_of(name), (Shape{2, 1000})) << name;
    EXPECT_EQ(output_of(name + ":input=96x75,channels=1,classes=7"), (Shape{2, 7})) << name;
  }
  EXPECT_EQ(find_net("resnet:stem=cifar").input, (Integers{3, 32, 32}));
  EXPECT_EQ(output_of("resnet:stem=cifar"), (Shape{2, 10}));
}

// Below these sizes a window no longer fits: the network says so, not a window deep inside.
TEST(ConvNet, TheSmallestImages) {
  const std::vector<std::pair<std::string, int>> least = {{"alexnet:", 63},
                                                          {"overfeat:", 71},
                                                          {"vgg:depth=19,", 32},
                                                          {"googlenet:", 1},
                                                          {"resnet:", 1},
                                                          {"resnet:version=1.5,", 1},
                                                          {"resnet:stem=cifar,depth=18,", 1},
                                                          {"mobilenet:", 1},
                                                          {"squeezenet:version=1.0,", 21},
                                                          {"squeezenet:version=1.1,", 17}};
  for (const auto& [model, side] : least) {
    const std::string name = model.substr(0, model.find(':'));
    EXPECT_EQ(output_of(fmt::format("{}input={},classes=5", model, side)), (Shape{2, 5})) << model;
    if (side == 1) continue;
    const std::string small = fmt::format("{}input={}x{},classes=5", model, side - 1, side + 9);
    expect_rejected([&] { find_net(small); }, {name, fmt::format("at least {}x{}", side, side)});
  }
}

TEST(ConvNet, OptionsOutOfRangeAreRejected) {
  expect_rejected([] { find_net("vgg:depth=17"); }, {"depth", "17"});
  expect_rejected([] { find_net("resnet:input=3x3x3"); }, {"resnet", "input"});
  expect_rejected([] { find_net("resnet:width=0"); }, {"width", "0"});
  expect_rejected([] { find_net("resnet:width=nan"); }, {"width"});
  expect_rejected([] { find_net("resnet:width=1000"); }, {"width"});
  expect_rejected([] { find_net("vgg:dropout=1"); }, {"dropout", "1"});
  expect_rejected([] { find_net("vgg:bn=yes"); }, {"bn", "yes"});
  expect_rejected([] { find_net("googlenet:depth=3"); }, {"'googlenet'", "'depth'"});
}

TEST(ConvNet, DataDecidesChannelsSizeAndClasses) {
  EXPECT_EQ(find_net(fitted_to("resnet:depth=18,stem=cifar", {3, 32, 32}, 10)).input, (Integers{3, 32, 32}));
  EXPECT_EQ(find_net(fitted_to("squeezenet", {1, 48, 64}, 4)).input, (Integers{1, 48, 64}));
  EXPECT_EQ(find_net(fitted_to("resnet:input=40,channels=2", {3, 32, 32}, 10)).input, (Integers{2, 40, 40}));
  EXPECT_EQ(fitted_to("vgg:classes=3", {1, 48, 48}, 10), "vgg:input=48,channels=1,classes=3");
}

TEST(ConvNet, NormalisationDropoutAndWidth) {
  for (const std::string& name : kNames) {
    SCOPED_TRACE(name);
    const Net with = find_net(name + ":bn=on,dropout=0.25"), without = find_net(name + ":bn=off,dropout=0");
    const std::int64_t last = name == "squeezenet" ? 1 : 0;  // the convolution for the classes has none
    EXPECT_EQ(count(with, "batch_norm"), count(with, "conv2d") - last);
    EXPECT_EQ(count(without, "batch_norm"), 0);
    EXPECT_GT(count(with, "dropout"), 0);
    EXPECT_EQ(count(without, "dropout"), 0);
    for (const Layer& layer : find_net(name + ":width=0.3").layers)
      if (layer.type == "conv2d" && layer.name != "conv10") {
        EXPECT_EQ(layer.options.integer("maps") % 8, 0) << layer.name;
      }
  }
  EXPECT_EQ(find_layer(find_net("mobilenet:width=0.35"), "conv1")->options.integer("maps"), 16)
      << "8 would be less than nine tenths of 11.2";
  EXPECT_EQ(find_layer(find_net("mobilenet:width=0.35"), "conv2")->options.integer("maps"), 1280);
  EXPECT_EQ(find_layer(find_net("mobilenet:width=2"), "conv2")->options.integer("maps"), 2560);
}

TEST(ConvNet, WhatIsPeculiarToEach) {
  const Net alexnet = find_net("alexnet");
  ASSERT_NE(find_layer(alexnet, "fc6_threshold"), nullptr);
  EXPECT_EQ(find_layer(alexnet, "fc7_threshold")->options.real("value"), 1e-6);
  EXPECT_EQ(count(find_net("alexnet:activation=relu"), "threshold"), 0);
  EXPECT_EQ(find_layer(find_net("googlenet:output=relu"), "fc")->options.text("activation"), "relu");
  EXPECT_EQ(find_layer(find_net("googlenet"), "fc")->options.text("activation"), "");
  const Net v1 = find_net("resnet"), late = find_net("resnet:version=1.5");
  EXPECT_TRUE(find_layer(v1, "conv3_1_a")->options.has("strides"));
  EXPECT_FALSE(find_layer(v1, "conv3_1_b")->options.has("strides"));
  EXPECT_FALSE(find_layer(late, "conv3_1_a")->options.has("strides"));
  EXPECT_TRUE(find_layer(late, "conv3_1_b")->options.has("strides"));
  EXPECT_EQ(find_layer(find_net("mobilenet"), "block2_depthwise")->options.integer("groups"), 96);
}

}  // namespace
}  // namespace headroom
