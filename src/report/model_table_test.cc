#include "report/model_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "headroom/net.h"
#include "train/build.h"

namespace headroom {
namespace {

// A convolution with its activation fused, a pooling, a product: every number below is counted by hand.
Net small() {
  Net net("small", {2, 6, 6});
  net.conv2d("conv", {.maps = 3, .kernel = 3, .activation = "relu"}).max_pool("pool", {});
  return net.linear("out", {.units = 5});
}

ModelCost cost_of(const Net& net, std::int64_t batch, bool with_training = true) {
  BuildRequest request{
      .mode = Mode::infer, .batch = batch, .target = cpu_capabilities(1), .fusion = Fusion::portable};
  const Plan forward = build(net, request).plan;
  request.mode = Mode::train;
  const Plan training = build(net, request).plan;
  return model_cost(forward, with_training ? &training : nullptr);
}

const LayerCost& row(const ModelCost& cost, const std::string& layer) {
  return *std::ranges::find(cost.layers, layer, &LayerCost::layer);
}

TEST(ModelTable, CountsByHand) {
  for (std::int64_t batch : {1, 7}) {
    const auto n = static_cast<double>(batch);
    const ModelCost cost = cost_of(small(), batch);
    ASSERT_EQ(cost.layers.size(), 3u);
    const LayerCost conv = row(cost, "conv");
    EXPECT_EQ(conv.operators, "conv2d+relu");
    EXPECT_EQ(conv.output, "3x4x4");
    EXPECT_EQ(conv.parameters, 3 * 2 * 9 + 3);
    EXPECT_EQ(conv.macs, n * 3 * 16 * 18);
    EXPECT_EQ(conv.flops(), 2 * conv.macs);
    EXPECT_EQ(conv.bytes, 4 * (n * 72 + 54 + 3 + n * 48)) << "input, weight, bias, output";
    EXPECT_EQ(conv.activations, 4 * n * 48);
    const LayerCost pool = row(cost, "pool");
    EXPECT_EQ(pool.macs, 0);
    EXPECT_EQ(pool.parameters, 0);
    EXPECT_EQ(pool.output, "3x2x2");
    const LayerCost out = row(cost, "out");
    EXPECT_EQ(out.operators, "linear") << "the view on the way in is not what the layer does";
    EXPECT_EQ(out.macs, n * 12 * 5);
    EXPECT_EQ(out.parameters, 12 * 5 + 5);
    EXPECT_EQ(cost.total.macs, conv.macs + out.macs);
    EXPECT_EQ(cost.total.parameters, 57 + 65);
    EXPECT_EQ(cost.total.bytes, conv.bytes + pool.bytes + out.bytes);
  }
}

// A normalisation multiplies and adds, but does not count as a product; each kind of product has its share.
TEST(ModelTable, ProductsByKind) {
  Net net("kinds", {2, 6, 6});
  net.conv2d("a", {.maps = 3, .kernel = 3})
      .batch_norm("b")
      .conv2d("c", {.maps = 4, .kernel = 3})
      .softmax("s");
  net.linear("out", {.units = 5});
  const ModelCost cost = cost_of(net, 2, false);
  EXPECT_EQ(row(cost, "b").macs, 0);
  EXPECT_GT(row(cost, "b").other, 2 * 3 * 16);
  EXPECT_EQ(row(cost, "s").macs, 0);
  ASSERT_EQ(cost.kinds.size(), 2u);
  EXPECT_EQ(cost.kinds[0].kind, "conv2d");
  EXPECT_EQ(cost.kinds[0].count, 2);
  EXPECT_EQ(cost.kinds[0].macs, 2 * (3 * 16 * 18 + 4 * 4 * 27));
  EXPECT_EQ(cost.kinds[1].macs, 2 * 16 * 5);
  EXPECT_EQ(cost.total.macs, cost.kinds[0].macs + cost.kinds[1].macs);
  EXPECT_EQ(kinds_line(cost), "2 conv2d, 5,184 FLOPs, 94.19 %; 1 linear, 320 FLOPs, 5.81 %");
}

TEST(ModelTable, TrainingTakesMoreThanRunning) {
  const ModelCost cost = cost_of(small(), 4);
  const double least = 4 * (4 * 72 + 57 + 65);  // inputs and weights
  EXPECT_GT(cost.inference_bytes, least);
  EXPECT_GT(cost.training_bytes, cost.inference_bytes);
  EXPECT_EQ(cost_of(small(), 4, false).training_bytes, 0);
}

TEST(ModelTable, JsonAndCsvHoldTheSameNumbers) {
  const ModelCost cost = cost_of(small(), 2);
  const Json json = model_json(cost);
  EXPECT_EQ(json.at("batch"), 2);
  EXPECT_EQ(json.at("flops"), cost.total.flops());
  EXPECT_EQ(json.at("parameters"), 122);
  EXPECT_EQ(json.at("peak_bytes").at("training"), cost.training_bytes);
  ASSERT_EQ(json.at("layers").size(), 3u);
  const Json& conv = json.at("layers").at(0);
  EXPECT_EQ(conv.at("layer"), "conv");
  EXPECT_NEAR(conv.at("share_percent"), 100.0 * 864 / 924, 1e-9);
  const std::string csv = model_sheet(cost, false).csv();
  EXPECT_EQ(std::ranges::count(csv, '\n'), 4);
  EXPECT_NE(csv.find("conv,conv2d+relu,3x4x4,57,1728,3456,93.50649350649351,"), std::string::npos) << csv;
}

TEST(ModelTable, AGapTakesThePlaceOfTrainingMemory) {
  ModelCost cost = cost_of(small(), 1, false);
  cost.training_gap = "no gradient";
  const Json json = model_json(cost);
  EXPECT_EQ(json.at("training_gap"), "no gradient");
  EXPECT_FALSE(json.at("peak_bytes").contains("training"));
}

TEST(ModelTable, TheTableEndsInItsTotal) {
  const std::string table = model_sheet(cost_of(small(), 1)).text();
  for (const char* part : {"conv2d+relu", "3x4x4", "93.51", "total", "122", "1,848"})
    EXPECT_NE(table.find(part), std::string::npos) << "no '" << part << "' in\n" << table;
}

TEST(ModelTable, CsvQuotesWhatNeedsIt) {
  Net net("odd", {3});
  net.linear("a,\"b\"", {.units = 2});
  EXPECT_NE(model_sheet(cost_of(net, 1), false).csv().find("\n\"a,\"\"b\"\"\",linear,"), std::string::npos);
}

}  // namespace
}  // namespace headroom
