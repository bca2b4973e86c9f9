#include "train/recipe.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"
#include "models/zoo.h"

namespace headroom {
namespace {

TEST(Recipe, EveryOneIsWhole) {
  EXPECT_GE(recipe_names().size(), 20u);
  for (const std::string& name : recipe_names()) {
    const Recipe r = find_recipe(name);
    EXPECT_EQ(r.name, name);
    EXPECT_FALSE(r.title.empty()) << name;
    EXPECT_FALSE(r.data.empty()) << name;
    EXPECT_GT(r.batch, 0) << name;
    EXPECT_GT(r.epochs, 0) << name;
    EXPECT_GT(r.lr, 0) << name;
    Net net = find_net(r.model);
    EXPECT_NO_THROW(apply_initial(r, net)) << name;
  }
}

TEST(Recipe, UnknownNamesAreRejectedWithTheNearest) {
  testing::expect_rejected([] { find_recipe("perceptron-cas1"); }, {"perceptron-cas1"});
  try {
    find_recipe("perceptron-cas1");
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean 'perceptron-case1'?");
  }
}

// The published settings: two tables of the course, copied here independently of the files they check.
struct Published {
  const char* name;
  int hidden, train, tail, batch, epochs;
  double lr;
};

constexpr Published kPublished[] = {
    // 2016 to 2020; 54,000 training images, the last 6,000 for testing.
    {"perceptron-default", 1000, 0, 6000, 800, 20, 0.001},
    {"perceptron-case1", 100, 0, 6000, 800, 40, 0.001},
    {"perceptron-case2", 100, 0, 6000, 800, 10, 0.01},
    {"perceptron-case3", 100, 0, 6000, 800, 1, 0.025},
    {"perceptron-2021-case1", 100, 0, 6000, 800, 40, 0.0005},
    {"perceptron-2021-case2", 100, 0, 6000, 800, 10, 0.001},
    {"perceptron-2021-case3", 100, 0, 6000, 800, 1, 0.002},
    {"perceptron-2023-default", 32, 0, 6000, 32, 1, 0.001},
    {"perceptron-2023-case1", 1000, 0, 6000, 800, 40, 0.0005},
    {"perceptron-2023-case2", 1000, 0, 6000, 800, 10, 0.001},
    {"perceptron-2023-case3", 1000, 0, 6000, 800, 1, 0.002},
    // 2024; the first N images.
    {"perceptron-small1", 32, 32, 0, 32, 1, 0.01},
    {"perceptron-small2", 32, 512, 0, 32, 2, 0.002},
    {"perceptron-small3", 32, 512, 0, 32, 16, 0.002},
    {"perceptron-medium", 128, 1087, 0, 64, 4, 0.004},
    {"perceptron-large", 1013, 1087, 0, 67, 4, 0.002},
    {"perceptron-custom", 512, 38400, 0, 3200, 1, 1e-4},
    {"perceptron-nsys1", 512, 0, 0, 3000, 1, 1e-2},
    {"perceptron-nsys2", 512, 0, 0, 3000, 1, 1e-2},
    {"perceptron-debug", 64, 0, 0, 3200, 1, 0.2},
};

TEST(Recipe, PerceptronsHaveThePublishedSettings) {
  for (const Published& p : kPublished) {
    const Recipe r = find_recipe(p.name);
    EXPECT_EQ(r.model, fmt::format("mlp:hidden={}", p.hidden)) << p.name;
    EXPECT_EQ(r.data, "mnist") << p.name;
    EXPECT_EQ(r.train_size, p.train) << p.name;
    EXPECT_EQ(r.validation_tail, p.tail) << p.name;
    EXPECT_EQ(r.batch, p.batch) << p.name;
    EXPECT_EQ(r.epochs, p.epochs) << p.name;
    EXPECT_EQ(r.lr, p.lr) << p.name;
    EXPECT_EQ(r.l2, 1e-4) << p.name;
    EXPECT_EQ(r.momentum, 0) << p.name;
    EXPECT_FALSE(r.shuffle) << p.name;
    EXPECT_EQ(r.initial, "course") << p.name;
    EXPECT_EQ(r.preprocess, Preprocess::raw()) << p.name << ": raw pixels";
    EXPECT_FALSE(r.source.empty()) << p.name;
  }
  for (const std::string& name : recipe_names()) {
    if (!name.starts_with("perceptron")) continue;
    EXPECT_TRUE(std::any_of(std::begin(kPublished), std::end(kPublished),
                            [&](const Published& p) { return p.name == name; }))
        << name << " is in no published table";
  }
}

TEST(Recipe, PublishedResults) {
  EXPECT_EQ(find_recipe("perceptron-case1").published.at("accuracy.test"), 0.894333);
  EXPECT_EQ(find_recipe("perceptron-case2").published.at("accuracy.test"), 0.924167);
  EXPECT_EQ(find_recipe("perceptron-case3").published.at("accuracy.test"), 0.845167);
  EXPECT_EQ(find_recipe("perceptron-case3").published.at("first_loss"), 2.31287);
  EXPECT_EQ(find_recipe("perceptron-nsys1").published.at("accuracy.test"), 0.7279);
  EXPECT_EQ(find_recipe("perceptron-nsys1").published.at("first_loss"), 2.30644);
}

TEST(Recipe, LayerISeedsItsWeightsWithI) {
  Net net = find_net("mlp");
  apply_initial(find_recipe("perceptron-case1"), net);
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    EXPECT_EQ(net.layers[i].options.text("init"), "course");
    EXPECT_EQ(net.layers[i].options.real("init_scale"), 0.01);
    EXPECT_EQ(net.layers[i].options.integer("init_index"), static_cast<std::int64_t>(i));
  }
  Net untouched = find_net("lenet5");
  apply_initial(find_recipe("lenet5-mnist"), untouched);
  EXPECT_FALSE(untouched.layers[0].options.has("init"));
}

}  // namespace
}  // namespace headroom
