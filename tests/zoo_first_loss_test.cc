// Every network of the zoo, with its own first weights, begins like one that guesses: its first loss is close
// to ln(classes), whatever the number of classes and the size of the images. And it learns with its own
// settings.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "data/glyphs.h"
#include "models/layers.h"
#include "models/testing/small_models.h"
#include "support/program.h"
#include "train/settings.h"
#include "train/trainer.h"

namespace headroom::testing {
namespace {

constexpr double kClose = 0.15;
constexpr std::int64_t kImages = 32;

// Drawn digits of the network's size. First losses do not depend on what the labels mean.
Dataset digits_for(const std::string& model, int classes) {
  const Net net = find_net(model);
  const std::int64_t side = net.input.size() == 3 ? net.input.back() : 28;
  Dataset data = make_glyphs({.train = kImages, .test = 8, .size = side});
  data.classes = classes;
  for (Split* split : {&data.train, &data.test})
    for (std::size_t i = 0; i < split->labels.size(); ++i)
      split->labels[i] = static_cast<std::uint8_t>(static_cast<int>(7 * i) % std::min(classes, kMaxClasses));
  return data;
}

Dataset text_for(const Net& net, int classes) {
  Dataset data{.name = "text", .classes = classes};
  for (Split* split : {&data.train, &data.test}) {
    split->image = Shape{net.input.at(0)};
    for (std::int64_t i = 0; i <= kImages * net.input.at(0); ++i)
      split->text.push_back(static_cast<std::uint8_t>(i * i % 7 * 31 % classes));
  }
  return data;
}

double first_loss(const std::string& model, int classes) {
  const TrainDefaults defaults = train_defaults(model);
  const bool text = reads_tokens(find_net(model));
  const Dataset data = text ? text_for(find_net(model), classes) : digits_for(model, classes);
  const std::string fitted = text ? model
                                  : fitted_to(with_option(model, "classes", std::to_string(classes)),
                                              data.train.image.vector(), classes);
  const auto device = open_device("cpu", 2);
  Engine engine(find_net(fitted), *device, {.seed = 3, .update = usual_update(defaults)});
  TrainOptions options{.batch = kImages, .lr = 1e-6};
  options.preprocess = parse_preprocess(defaults.pixels, "", usual_preprocess("glyphs"));
  TrainObserver nobody;
  return train(engine, data, options, nobody).state.first_loss;
}

// The narrow forms, and some with other options that change first weights. A network that the data gives its
// size is tried at two sizes.
std::vector<std::string> forms() {
  std::vector<std::string> list;
  for (const ZooEntry& entry : zoo()) {
    const std::string small = small_model(entry.name);
    list.push_back(small);
    const bool sized = std::ranges::find(entry.from_data, "image") != entry.from_data.end();
    if (sized) list.push_back(with_option(small, "input", "96"));
  }
  for (const char* more :
       {"alexnet:width=0.25,input=64,activation=relu", "vgg:depth=19,width=0.125,input=32",
        "vgg:depth=11,width=0.25,input=32,bn=on", "resnet:depth=18,width=0.25,input=32,stem=cifar",
        "resnet:depth=34,width=0.125,input=64,bn=off", "resnet:depth=101,width=0.125,input=32,version=1.5",
        "squeezenet:width=0.5,input=48,version=1.1", "mobilenet:width=0.25,input=64,version=1",
        "googlenet:width=0.25,input=64,output=relu", "vit:width=48,depth=3,patch=8,input=32,pool=mean",
        "lenet5:activation=tanh,pool=avg", "mlp:hidden=256x128,activation=relu", "ece408:term=2017fa",
        "ece408:term=2018sp", "ece408:term=2019sp", "ece408:term=2019fa", "ece408:term=2020fa"})
    list.emplace_back(more);
  return list;
}

class ZooFirstLoss : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooFirstLoss, IsThatOfAGuess) {
  const Net net = find_net(GetParam());
  if (net.loss != kCrossEntropy) GTEST_SKIP() << GetParam() << " has no classes";
  for (int classes : {2, 10, 100, 1000}) {
    if (reads_tokens(net)) classes = static_cast<int>(net.layers.front().options.integer("tokens"));
    const double guess = std::log(double(classes)), first = first_loss(GetParam(), classes);
    EXPECT_NEAR(first, guess, kClose * guess) << GetParam() << ", " << classes << " classes";
    if (reads_tokens(net)) return;  // the vocabulary is part of the network
  }
}

INSTANTIATE_TEST_SUITE_P(AllNetworks, ZooFirstLoss, ::testing::ValuesIn(forms()), [](const auto& test) {
  std::string name = test.param.substr(0, test.param.find(':'));
  std::erase(name, '-');
  return fmt::format("{}_{}", name, test.index);
});

// Narrow forms learn digits with all their own settings: rate, schedule, warm-up, decay.
class AccuracyZoo : public ProgramTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(AccuracyZoo, RisesFarAboveChance) {
  const Json json =
      succeed_json({"train", GetParam(), "--train-size", "12800", "--test-size", "2000", "--epochs", "3"});
  constexpr double kChance = 0.1;
  EXPECT_GT(json.at("accuracy").at("test").get<double>(), 5 * kChance) << GetParam();
  EXPECT_FALSE(json.contains("diverged"));
}

INSTANTIATE_TEST_SUITE_P(
    NarrowForms, AccuracyZoo,
    ::testing::Values("alexnet:width=0.25,input=64", "overfeat:width=0.125,input=72",
                      "vgg:depth=11,width=0.25,input=32", "vgg:depth=16,width=0.25,input=32",
                      "googlenet:width=0.25,input=64", "resnet:depth=18,width=0.25,input=32",
                      "resnet:depth=50,width=0.25,input=32", "squeezenet:width=0.5,input=48",
                      "mobilenet:width=0.25,input=32", "mobilenet:width=0.25,input=32,version=1",
                      "vit:width=48,depth=4,patch=7,input=28", "mlp", "lenet5", "lenet-caffe", "ece408",
                      "ece408:term=2020fa"));

}  // namespace
}  // namespace headroom::testing
