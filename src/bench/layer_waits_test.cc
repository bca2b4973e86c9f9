#include "bench/layer_waits.h"

#include <gtest/gtest.h>

#include "bench/random_batch.h"

namespace headroom {
namespace {

LayerWaits read(const std::string& model, std::int64_t batch, int samples) {
  const auto device = open_device("cpu");
  Engine engine(find_net(model), *device, {.seed = 1});
  const Program& program = engine.ready(Mode::eval, batch).program;
  const RandomBatch data(*device, program, batch);
  return time_layers(engine, batch, data.image(0), data.label(0), samples);
}

// Pools are layers of their own, or part of the convolution before them: that depends on the kernels here.
TEST(LayerWaits, EveryLayerOnceInOrder) {
  const LayerWaits r = read("lenet5", 8, 4);
  std::vector<std::string> names;
  for (const WaitedLayer& layer : r.layers) {
    if (!layer.layer.starts_with('S')) names.push_back(layer.layer);
    EXPECT_EQ(layer.seconds.samples, 4);
    EXPECT_GT(layer.seconds.median, 0) << layer.layer;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"C1", "C3", "C5", "F6", "out", "loss"}));
  EXPECT_TRUE(r.layers[0].operators.starts_with("conv2d")) << r.layers[0].operators;
  EXPECT_EQ(r.whole_s.samples, 4);
  EXPECT_EQ(r.empty_s.samples, 4);
}

TEST(LayerWaits, TheSumsAddUp) {
  LayerWaits r;
  r.layers = {{"a", "conv2d", {.median = 5}}, {"b", "relu", {.median = 2}}};
  r.whole_s.median = 4, r.empty_s.median = 1.5, r.in_row_s.median = 0.5;
  r.sum_s.median = 7.5;
  EXPECT_EQ(r.medians_s(), 7);
  EXPECT_EQ(r.wait_s(), 1);
  EXPECT_EQ(r.corrected_s(), 5.5);
  EXPECT_EQ(r.remaining_s(), 1.5);
  r.in_row_s.median = 2;
  EXPECT_EQ(r.wait_s(), 0) << "noise is no overhead";
}

// A CPU has nothing to wait for: layers of milliseconds add up to the whole.
TEST(TimingLayerWaits, OnACpuTheLayersAreTheWhole) {
  const LayerWaits r = read("vgg:depth=11,width=0.25,input=64,classes=10", 8, 9);
  EXPECT_NEAR(r.corrected_s(), r.whole_s.median, 0.15 * r.whole_s.median);
  EXPECT_LT(r.wait_s(), 2e-5);
}

}  // namespace
}  // namespace headroom
