#include "plan/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace headroom {
namespace {

using Kind = Initializer::Kind;

Value parameter(const char* name, Shape shape, Initializer init, DType dtype = DType::f64) {
  return {.name = name, .type = {shape, dtype}, .role = Role::parameter, .init = init};
}

double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(InitialValues, FollowTheirRules) {
  const Shape shape{50, 20, 5, 5};  // fan-in 500, fan-out 1250
  EXPECT_EQ(initial_values(parameter("w", {3}, {Kind::constant, 0.25}), 0), (std::vector<double>(3, 0.25)));
  const auto he = initial_values(parameter("w", shape, {Kind::he}), 1);
  EXPECT_NEAR(deviation(he), std::sqrt(2.0 / 500), 0.02 * std::sqrt(2.0 / 500));
  const auto xavier = initial_values(parameter("w", shape, {Kind::xavier}), 1);
  const double bound = std::sqrt(6.0 / 1750);
  const auto [low, high] = std::minmax_element(xavier.begin(), xavier.end());
  EXPECT_GE(*low, -bound);
  EXPECT_LT(*high, bound);
  EXPECT_NEAR(*high - *low, 2 * bound, 0.01 * bound);
  EXPECT_NEAR(deviation(initial_values(parameter("w", shape, {Kind::normal, 3}), 1)), 3, 0.06);
  EXPECT_NEAR(deviation(initial_values(parameter("w", shape, {Kind::uniform, 3}), 1)), 3 / std::sqrt(3.0),
              0.03);
}

TEST(InitialValues, DependOnSeedAndNameAlone) {
  const Value a = parameter("a", {100}, {Kind::normal, 1}), b = parameter("b", {100}, {Kind::normal, 1});
  EXPECT_EQ(initial_values(a, 7), initial_values(a, 7));
  EXPECT_NE(initial_values(a, 7), initial_values(a, 8));
  EXPECT_NE(initial_values(a, 7), initial_values(b, 7));
}

// Column by column, from a generator seeded with the layer number. The run's seed does not matter.
TEST(InitialValues, OfTheCourse) {
  const Value w = parameter("w", {4, 3}, {Kind::layer_seeded_normal, 0.01, 1});
  const auto values = initial_values(w, 99);
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  for (std::size_t column = 0; column < 3; ++column)
    for (std::size_t row = 0; row < 4; ++row)
      // the library and this test may fuse multiplications and additions differently
      EXPECT_NEAR(values[row * 3 + column], 0.01 * normal(generator), 1e-15) << row << "," << column;
}

class StorageTest : public ::testing::Test {
 protected:
  Graph graph(DType dtype = DType::f64) {
    Graph g;
    g.add_value(parameter("w", {2, 3}, {Kind::normal, 1}, dtype));
    g.add_value({.name = "rate", .type = {{1}, DType::f64}, .role = Role::scalar});
    g.add_value({.name = "w.momentum", .type = {{2, 3}, dtype}, .role = Role::state});
    g.add_value({.name = "x", .type = {{2, 3}, dtype}, .role = Role::input});
    return g;
  }
  std::unique_ptr<Device> device_ = open_device("cpu", 1);
  Storage storage_{*device_};
};

// Large values are drawn and uploaded a stretch at a time.
TEST_F(StorageTest, LargeValuesAreDrawnLikeSmallOnes) {
  Graph g;
  const Value large = parameter("large", {1 << 11, 1111}, {Kind::he}, DType::f32);
  g.add_value(large);
  storage_.prepare(g, 5);
  const std::vector<double> want = initial_values(large, 5);
  std::vector<float> got(want.size());
  storage_.read("large", got.data(), got.size() * sizeof(float));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<float>(want[i])) << i;
}

TEST_F(StorageTest, HoldsWhatOutlivesAStep) {
  storage_.prepare(graph(), 3);
  EXPECT_TRUE(storage_.has("w"));
  EXPECT_TRUE(storage_.has("rate"));
  EXPECT_FALSE(storage_.has("x"));
  EXPECT_EQ(storage_.names(Role::parameter), std::vector<std::string>{"w"});
  EXPECT_EQ(storage_.names(Role::state), std::vector<std::string>{"w.momentum"});
  EXPECT_GE(storage_.bytes(), 6u * 8 * 2 + 8);
  EXPECT_THROW(storage_.data("absent"), Error);
}

TEST_F(StorageTest, ASecondPlanFindsTheValuesOfTheFirst) {
  storage_.prepare(graph(), 3);
  const std::vector<double> mine(6, 42);
  storage_.write("w", mine.data(), 48);
  const void* place = storage_.data("w");
  storage_.prepare(graph(), 4);
  EXPECT_EQ(storage_.data("w"), place);
  std::vector<double> now(6);
  storage_.read("w", now.data(), 48);
  EXPECT_EQ(now, mine);
}

TEST_F(StorageTest, OneNameHasOneType) {
  storage_.prepare(graph(), 3);
  EXPECT_THROW(storage_.prepare(graph(DType::f32), 3), Error);
}

TEST_F(StorageTest, ReadsAndWritesWholeTensorsOnly) {
  storage_.prepare(graph(), 3);
  std::vector<double> values(6);
  EXPECT_THROW(storage_.write("w", values.data(), 40), Error);
  EXPECT_THROW(storage_.read("w", values.data(), 40), Error);
  storage_.set_scalar("rate", 0.125);
  double rate = 0;
  storage_.read("rate", &rate, sizeof rate);
  EXPECT_EQ(rate, 0.125);
}

}  // namespace
}  // namespace headroom
