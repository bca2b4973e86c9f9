// Parameters and FLOPs of whole networks, exact to the last integer, by closed forms and published tables.
#include <gtest/gtest.h>

#include <map>

#include "models/zoo.h"
#include "plan/plan.h"
#include "plan/testing/small_net.h"
#include "report/layers.h"
#include "train/program.h"

namespace headroom {
namespace {

struct PublishedCounts {
  double parameters = 0, forward = 0, backward = 0;
};

// Multiply-add FLOPs of a training step per image, by the layer of each step's node. The tables do not
// include updates.
std::map<std::string, PublishedCounts> published_counts_of(const std::string& model, std::int64_t batch) {
  const Program p = make_program(find_net(model), {.mode = Mode::train, .batch = batch});
  const Plan plan = make_plan(p.graph, {Mode::train, batch, DType::f32, cpu_capabilities(2)});
  EXPECT_EQ(testing::find_overwrite(plan), "") << model;
  std::map<std::string, PublishedCounts> counts;
  for (const Step& step : plan.steps) {
    const double flops = step.cost.multiply_add / static_cast<double>(batch);
    for (const std::string& layer : {plan.graph.node(step.node).layer, std::string("total")}) {
      if (step.phase == Phase::forward) counts[layer].forward += flops;
      if (step.phase == Phase::backward) counts[layer].backward += flops;
    }
  }
  for (ValueId id : plan.graph.with_role(Role::parameter)) {
    const auto n = static_cast<double>(plan.graph.value(id).type.shape.numel());
    counts[plan.graph.value(id).layer].parameters += n;
    counts["total"].parameters += n;
  }
  return counts;
}

void expect_published(std::map<std::string, PublishedCounts>& counts, const std::string& layer,
                      const PublishedCounts& want) {
  EXPECT_EQ(counts[layer].parameters, want.parameters) << layer;
  EXPECT_EQ(counts[layer].forward, want.forward) << layer;
  EXPECT_EQ(counts[layer].backward, want.backward) << layer;
}

// Window products: outputs x maps x depth x 2. Backward costs this once for the weights and, except for C1,
// once for the input.
TEST(NetworkCosts, LeNet) {
  for (const char* model : {"lenet5", "lenet5:pool=avg,activation=tanh"})
    for (std::int64_t batch : {1, 7, 64}) {
      SCOPED_TRACE(fmt::format("{} batch {}", model, batch));
      auto counts = published_counts_of(model, batch);
      expect_published(counts, "C1", {156, 2.0 * 28 * 28 * 6 * 25, 2.0 * 28 * 28 * 6 * 25});
      expect_published(counts, "C3", {2416, 2.0 * 100 * 16 * 150, 2 * 2.0 * 100 * 16 * 150});
      expect_published(counts, "C5", {48120, 2.0 * 120 * 400, 2 * 2.0 * 120 * 400});
      expect_published(counts, "F6", {10164, 2.0 * 84 * 120, 2 * 2.0 * 84 * 120});
      expect_published(counts, "out", {850, 2.0 * 840, 2 * 2.0 * 840});
      expect_published(counts, "S2", {0, 0, 0});
      expect_published(counts, "total", {61'706, 833'040, 1'430'880});
    }
}

struct PublishedMlp {
  int hidden;
  double layer1, layer2, forward1, forward2, forward, backward, both;
};

// The table of the perceptron course's workloads: D = 784, C = 10.
constexpr PublishedMlp kPublished[] = {
    {64, 50'240, 650, 100'352, 1'280, 101'632, 102'912, 204'544},
    {100, 78'500, 1'010, 156'800, 2'000, 158'800, 160'800, 319'600},
    {512, 401'920, 5'130, 802'816, 10'240, 813'056, 823'296, 1'636'352},
    {1000, 785'000, 10'010, 1'568'000, 20'000, 1'588'000, 1'608'000, 3'196'000},
    {1024, 803'840, 10'250, 1'605'632, 20'480, 1'626'112, 1'646'592, 3'272'704},
    {2048, 1'607'680, 20'490, 3'211'264, 40'960, 3'252'224, 3'293'184, 6'545'408},
};

TEST(NetworkCosts, Perceptrons) {
  for (const PublishedMlp& p : kPublished)
    for (std::int64_t batch : {1, 32, 800, 3000}) {
      SCOPED_TRACE(fmt::format("H = {}, batch {}", p.hidden, batch));
      auto counts = published_counts_of(fmt::format("mlp:hidden={}", p.hidden), batch);
      expect_published(counts, "hidden", {p.layer1, p.forward1, p.forward1});
      expect_published(counts, "out", {p.layer2, p.forward2, 2 * p.forward2});
      expect_published(counts, "total", {p.layer1 + p.layer2, p.forward, p.backward});
      const double dh = 784.0 * p.hidden, hc = 10.0 * p.hidden;
      EXPECT_EQ(p.forward, 2 * (dh + hc)) << "the table against its closed form";
      EXPECT_EQ(p.both, 4 * dh + 6 * hc);
      EXPECT_EQ(counts["total"].forward + counts["total"].backward, p.both);
    }
}

// The GPU convolution course's networks and Caffe's LeNet: parameters, forward, backward.
TEST(NetworkCosts, PublishedConvolutionalNetworks) {
  const std::map<std::string, PublishedCounts> published = {
      {"ece408:term=2018fa", {2'815'830, 31'299'872, 57'477'088}},
      {"ece408:term=2019sp", {729'860, 3'590'320, 6'599'840}},
      {"ece408:term=2019fa", {3'238'710, 21'186'080, 39'758'560}},
      {"ece408:term=2020fa", {36'482, 9'825'408, 17'142'016}},
      {"lenet-caffe", {431'080, 4'586'000, 8'596'000}},
  };
  for (const auto& [model, want] : published)
    for (std::int64_t batch : {1, 5}) {
      SCOPED_TRACE(fmt::format("{} batch {}", model, batch));
      auto counts = published_counts_of(model, batch);
      expect_published(counts, "total", want);
    }
}

TEST(NetworkCosts, TwoHiddenLayers) {
  auto counts = published_counts_of("mlp:hidden=256x128,input=300,classes=7", 9);
  expect_published(counts, "hidden1", {300 * 256 + 256, 2.0 * 300 * 256, 2.0 * 300 * 256});
  expect_published(counts, "hidden2", {256 * 128 + 128, 2.0 * 256 * 128, 4.0 * 256 * 128});
  expect_published(counts, "out", {128 * 7 + 7, 2.0 * 128 * 7, 4.0 * 128 * 7});
}

// The report's layers come from the same plan, with sums and comparisons in addition to the products.
TEST(NetworkCosts, ReportedLayersHoldTheProducts) {
  const Program p = make_program(find_net("lenet5"), {.mode = Mode::train, .batch = 64});
  const Plan plan = make_plan(p.graph, {Mode::train, 64, DType::f32, cpu_capabilities(2)});
  Prediction none;
  none.steps.resize(plan.steps.size());
  double flops = 0, steps = 0, products = 0;
  std::int64_t parameters = 0;
  for (const LayerReading& row : read_layers(plan, none)) {
    flops += row.flops, parameters += row.parameters;
    EXPECT_TRUE(row.layer != "C3" || row.output == "16x10x10") << row.output;
  }
  for (const Step& step : plan.steps) {
    steps += step.cost.flops();
    if (step.phase != Phase::update) products += step.cost.multiply_add;
  }
  EXPECT_NEAR(flops, steps, 1e-9 * steps);
  EXPECT_EQ(products, 64 * (833'040.0 + 1'430'880.0));
  EXPECT_EQ(parameters, 61'706);
}

}  // namespace
}  // namespace headroom
