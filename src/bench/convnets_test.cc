#include "bench/convnets.h"

#include <gtest/gtest.h>

#include "bench/published_convnets.h"
#include "machine/roofline.h"

namespace headroom {
namespace {

double forward_gflop(const ConvnetWorkload& w) {
  const Program p =
      make_program(w.net, {.mode = Mode::gradients, .batch = w.batch, .image_gradients = w.layer});
  double flop = 0;
  for (std::size_t n = 0; n < p.graph.nodes().size(); ++n) {
    const Problem problem = p.graph.problem(static_cast<NodeId>(n));
    if (p.graph.node(static_cast<NodeId>(n)).phase == Phase::forward)
      flop += schema_of(problem.op).cost(problem).multiply_add;
  }
  return flop / 1e9;
}

TEST(BenchConvnets, LayersHaveThePublishedWork) {
  const std::vector<double> published = {124.2, 532.7, 195.7, 20.55, 41.11};
  const auto layers = layer_workloads();
  ASSERT_EQ(layers.size(), published.size());
  for (std::size_t i = 0; i < layers.size(); ++i)
    EXPECT_NEAR(forward_gflop(layers[i]), published[i], published[i] * 5e-4) << layers[i].name;
}

TEST(BenchConvnets, NetworksHaveThePublishedWork) {
  const std::vector<double> published = {182.8, 717.2, 974.0, 405.2};  // per batch, forward
  const auto nets = convnet_workloads();
  for (std::size_t i = 0; i < published.size(); ++i)
    EXPECT_NEAR(forward_gflop(nets[i]), published[i], published[i] * 5e-4) << nets[i].name;
}

// y = W x, so with y as its own gradient dW = y x^T and dx = W^T y.
TEST(BenchConvnets, TheOutputIsItsOwnGradient) {
  const auto device = open_device("cpu", 1);
  Net net("small", {2});
  net.linear("fc", {.units = 2, .bias = false});
  Program p = make_program(
      net, {.mode = Mode::gradients, .batch = 1, .precision = DType::f64, .image_gradients = true});
  const ValueId dw = gradient_of(p, "fc.weight"), dx = gradient_of(p, "images");
  const Plan plan = make_plan(p.graph, {Mode::train, 1, DType::f64, device->capabilities()});
  Storage storage(*device);
  Arena arena(*device);
  storage.prepare(plan.graph, 1);
  const double w[] = {1, 2, 3, 4}, x[] = {5, 7};  // y = (19, 43)
  storage.write("fc.weight", w, sizeof w);
  Executor executor(plan, storage, arena);
  executor.bind(p.images, x);
  executor.run();
  EXPECT_EQ(executor.read(dw), (std::vector<double>{19 * 5, 19 * 7, 43 * 5, 43 * 7}));
  EXPECT_EQ(executor.read(dx), (std::vector<double>{19 * 1 + 43 * 3, 19 * 2 + 43 * 4}));
}

TEST(BenchConvnets, TimesBothWays) {
  const auto device = open_device("cpu", 1);
  Net net("small", {3, 12, 12});
  net.conv2d("conv", {.maps = 4, .kernel = 3, .activation = "relu"});
  net.batch_norm("norm").flatten().linear("fc", {.units = 5});
  Machine machine;
  machine.name = "test";
  machine.kind = "cpu";
  machine.peak_flops = {{"fp32", 1e12}};
  machine.levels = {{.name = "memory", .bytes = 1e12, .bytes_per_s = 1e11}};
  const auto timings = bench_convnets(*device, machine, {{"small", net, 2}, layer_workloads(1).back()},
                                      {.engine = {}, .rounds = 2, .repeats = 1}, [](const std::string&) {});
  ASSERT_EQ(timings.size(), 2u);
  const ConvnetTiming& t = timings[0];
  EXPECT_EQ(t.parameters, 4 * 27 + 4 + 8 + 400 * 5 + 5);
  EXPECT_EQ(t.features.layers, 4u);
  EXPECT_EQ(t.features.lines, 4u + 6u);  // name, input, and the brackets around the layers
  EXPECT_GT(t.features.launches, 0u);
  // Forward and both gradients of the classifier; the first convolution has no image gradient.
  const double conv = 2.0 * 2 * 100 * 4 * 27, fc = 2.0 * 2 * 400 * 5;
  EXPECT_EQ(t.flop, 2 * conv + 3 * fc);
  EXPECT_EQ(t.input_gradient_flop, fc);
  EXPECT_EQ(t.weight_gradient_flop, conv + fc);
  for (const Spread& s : std::vector<Spread>{t.forward_s, t.input_gradient_s, t.weight_gradient_s, t.step_s,
                                             t.step_forward_s, t.step_backward_s})
    EXPECT_GT(s.median, 0);
  EXPECT_EQ(t.step_s.samples, 2);
  EXPECT_EQ(t.step_forward_s.samples, 2);
  EXPECT_GT(t.peak_bytes, 0);
  EXPECT_EQ(timings[1].step_s.samples, 0);
  EXPECT_GT(timings[1].total_s(), 0);
}

TEST(BenchConvnets, PublishedFiguresNameNetworksThatAreTimed) {
  const auto nets = convnet_workloads(1);
  auto timed = [&](std::string_view model) {
    return std::any_of(nets.begin(), nets.end(), [&](const ConvnetWorkload& w) { return w.name == model; });
  };
  for (const PublishedTime& p : published_times()) {
    EXPECT_TRUE(timed(p.model)) << p.model;
    EXPECT_NEAR(p.total_ms, p.forward_ms + p.backward_ms, 2) << p.model << " " << p.library;
  }
  for (const PublishedCode& p : published_code()) EXPECT_TRUE(timed(p.model)) << p.model;
}

}  // namespace
}  // namespace headroom
