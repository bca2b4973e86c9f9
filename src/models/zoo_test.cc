#include "models/zoo.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using testing::expect_rejected;

std::vector<std::string> names(const Net& net) {
  std::vector<std::string> list;
  for (const Layer& layer : net.layers) list.push_back(layer.name);
  return list;
}

TEST(Zoo, ThePerceptronOfTheCourseByDefault) {
  const Net net = find_net("mlp");
  EXPECT_EQ(net.input, std::vector<std::int64_t>{784});
  EXPECT_EQ(names(net), (std::vector<std::string>{"hidden", "out"}));
  EXPECT_EQ(net.layers[0].options.integer("units"), 512);
  EXPECT_EQ(net.layers[0].options.text("activation"), "sigmoid");
  EXPECT_EQ(net.layers[1].options.integer("units"), 10);
}

TEST(Zoo, TwoHiddenLayers) {
  const Net net = find_net("mlp:hidden=256x128,activation=relu,input=100,classes=7");
  EXPECT_EQ(names(net), (std::vector<std::string>{"hidden1", "hidden2", "out"}));
  EXPECT_EQ(net.layers[0].options.integer("units"), 256);
  EXPECT_EQ(net.layers[1].options.integer("units"), 128);
  EXPECT_EQ(net.layers[1].options.text("activation"), "relu");
  EXPECT_EQ(net.layers[2].options.integer("units"), 7);
  EXPECT_EQ(net.input, std::vector<std::int64_t>{100});
}

TEST(Zoo, LeNetWithMeansAndTanh) {
  const Net net = find_net("lenet5:pool=avg,activation=tanh");
  EXPECT_EQ(names(net), (std::vector<std::string>{"C1", "S2", "C3", "S4", "C5", "F6", "out"}));
  EXPECT_EQ(net.layers[1].type, "avg_pool");
  EXPECT_EQ(net.layers[0].options.text("activation"), "tanh");
  EXPECT_EQ(find_net("lenet5").layers[1].type, "max_pool");
}

TEST(Zoo, RecurrentNetworksReadRowsOfImagesOrBytes) {
  const Net rows = find_net("rnn:cell=gru,channels=3,input=20x10,classes=7");
  EXPECT_EQ(rows.input, (std::vector<std::int64_t>{3, 20, 10}));
  EXPECT_EQ(names(rows), (std::vector<std::string>{"rows_first", "rows", "cells", "out"}));
  EXPECT_EQ(rows.layers[2].type, "gru");
  EXPECT_EQ(rows.layers[2].options.text("output"), "last");
  EXPECT_EQ(fitted_to_text("rnn:cell=plain,hidden=8"), "rnn:data=text,cell=plain,hidden=8");
  EXPECT_EQ(fitted_to_text("rnn:data=images"), "rnn:data=images");
  EXPECT_EQ(fitted_to_text("mlp"), "mlp");
  const Net bytes = find_net("rnn:data=text,cell=plain,context=9");
  EXPECT_EQ(bytes.input, std::vector<std::int64_t>{9});
  EXPECT_EQ(names(bytes), (std::vector<std::string>{"tokens", "cells", "out"}));
  EXPECT_EQ(bytes.layers[1].type, "rnn");
  EXPECT_EQ(bytes.layers[2].options.integer("units"), 256);
}

TEST(Zoo, WrongOptionsAreRejectedByName) {
  expect_rejected([] { find_net("rnn:data=text,bidirectional=on"); }, {"bidirectional", "predict"});
  expect_rejected([] { find_net("rnn:cell=lstn"); }, {"cell", "'lstn'"});

  expect_rejected([] { find_net("lenet"); }, {"'lenet'"});
  expect_rejected([] { find_net("mlp:hiden=3"); }, {"'mlp'", "'hiden'"});
  expect_rejected([] { find_net("mlp:hidden"); }, {"'hidden'", "no value"});
  expect_rejected([] { find_net("mlp:hidden=12x"); }, {"hidden", "''"});
  expect_rejected([] { find_net("mlp:hidden=0"); }, {"hidden", "0"});
  expect_rejected([] { find_net("mlp:hidden=99999999"); }, {"hidden", "99999999"});
  expect_rejected([] { find_net("lenet5:pool=mean"); }, {"pool", "mean"});
  expect_rejected([] { find_net("no/such.json"); }, {"no/such.json"});
}

TEST(Zoo, OneOptionIsSetAndTheOthersStay) {
  EXPECT_EQ(with_option("mlp:hidden=512", "hidden", "64"), "mlp:hidden=64");
  EXPECT_EQ(with_option("mlp", "hidden", "64"), "mlp:hidden=64");
  EXPECT_EQ(with_option("mlp:activation=relu,hidden=3", "hidden", "4"), "mlp:hidden=4,activation=relu");
}

TEST(Zoo, EveryModelHasItsTrainingDefaults) {
  for (const ZooEntry& entry : zoo()) {
    const TrainDefaults d = train_defaults(entry.name + ":classes=10");
    EXPECT_EQ(d.batch, entry.defaults.batch);
    EXPECT_GT(d.lr, 0);
    EXPECT_FALSE(entry.title.empty());
    EXPECT_FALSE(entry.options.empty());
  }
}

}  // namespace
}  // namespace headroom
