#include "train/weights.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headroom {
namespace {

NamedTensor tensor(const std::string& name, Shape shape) {
  NamedTensor t{name, {shape, DType::f32}, {}};
  t.bytes.resize(static_cast<std::size_t>(t.type.bytes()));
  return t;
}

// The new name of each old one.
std::map<std::string, std::string> renamed(const std::vector<NamedTensor>& tensors, const Net& net) {
  TensorFile file;
  file.tensors = tensors;
  // The bytes identify the tensors afterwards.
  for (std::size_t i = 0; i < file.tensors.size(); ++i) file.tensors[i].bytes[0] = std::byte(i);
  std::map<std::string, std::string> names;
  for (const NamedTensor& t : renamed_from_mxnet(std::move(file), net).tensors)
    names[tensors.at(static_cast<std::size_t>(t.bytes[0])).name] = t.name;
  return names;
}

using Names = std::map<std::string, std::string>;

TEST(RenamedFromMxnet, LayersAreNumberedByKind) {
  const Net net = find_net("ece408:term=2019sp");
  EXPECT_EQ(renamed({tensor("fullyconnected1_weight", {10, 140}), tensor("fullyconnected1_bias", {10}),
                     tensor("new0_weight", {6, 1, 5, 5}), tensor("fullyconnected0_bias", {140}),
                     tensor("new1_weight", {16, 6, 5, 5}), tensor("fullyconnected0_weight", {140, 5184})},
                    net),
            (Names{{"new0_weight", "conv1.weight"},
                   {"new1_weight", "conv2.weight"},
                   {"fullyconnected0_weight", "fc1.weight"},
                   {"fullyconnected0_bias", "fc1.bias"},
                   {"fullyconnected1_weight", "fc2.weight"},
                   {"fullyconnected1_bias", "fc2.bias"}}));
}

TEST(RenamedFromMxnet, TheTenthComesAfterTheNinth) {
  Net net("deep", {4});
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 12; ++i) {
    net.linear(fmt::format("l{}", i), {.units = 4});
    tensors.push_back(tensor(fmt::format("fullyconnected{}_weight", i), {4, 4}));
  }
  std::ranges::reverse(tensors);
  const Names names = renamed(tensors, net);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(names.at(fmt::format("fullyconnected{}_weight", i)), fmt::format("l{}.weight", i));
}

TEST(RenamedFromMxnet, WhatItDoesNotKnowKeepsItsName) {
  const Net net = find_net("ece408:term=2017fa");  // one convolution
  const Names names = renamed({tensor("new0_weight", {50, 1, 5, 5}), tensor("new1_weight", {24, 12, 7, 7}),
                               tensor("scale", {3}), tensor("odd_name", {2, 2})},
                              net);
  EXPECT_EQ(names.at("new0_weight"), "conv1.weight");
  EXPECT_EQ(names.at("new1_weight"), "new1_weight") << "the network has no second one";
  EXPECT_EQ(names.at("scale"), "scale");
  EXPECT_EQ(names.at("odd_name"), "odd_name");
}

}  // namespace
}  // namespace headroom
