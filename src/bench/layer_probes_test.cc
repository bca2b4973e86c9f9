// Which sizes a calibration of a GPU looks at, without one.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/calibrate_steps.h"
#include "bench/probes.h"
#include "machine/machine.h"
#include "train/forecast_parts.h"

namespace headroom {
namespace {

// About what half a minute on a large GPU is enough for.
constexpr std::uint64_t kCount = 156;

CalibrateOptions three_precisions() {
  CalibrateOptions options;
  options.engines.resize(3);
  options.engines[1].tf32 = true, options.engines[2].precision = DType::bf16;
  return options;
}

// The steps that a probe would have on an H200, in its precision.
struct ProbeSteps {
  std::size_t precision;
  Plan plan;
};
std::vector<ProbeSteps> steps_in(Mode mode) {
  std::vector<ProbeSteps> list;
  const Machine machine = find_machine("h200");
  CalibrateOptions options = three_precisions();
  for (std::uint64_t number = 0; number < kCount; ++number) {
    const Probe probe = draw_layer_probe(number);
    const EngineOptions& engine = options.engines[number % 3];
    const BuildRequest request = reading_request(probe.net, machine, engine, mode, probe.batch, 0, {});
    list.push_back({number % 3, build(probe.net, request).plan});
  }
  return list;
}
const std::vector<ProbeSteps>& layer_steps() {
  static const std::vector<ProbeSteps> all = steps_in(Mode::train);
  return all;
}

template <class Visit>
void each_step(const Visit& visit, const std::vector<ProbeSteps>& probes = layer_steps()) {
  for (const ProbeSteps& probe : probes)
    for (const Step& step : probe.plan.steps) visit(probe.precision, step);
}

TEST(LayerProbes, ConvolutionsCoverWindowsPicturesAndChannels) {
  std::set<std::int64_t> windows;
  std::map<std::int64_t, std::int64_t> most_channels;  // by pixels
  bool strided = false, depthwise = false, grouped = false;
  each_step([&](std::size_t, const Step& step) {
    if (step.problem.op != "conv2d") return;
    const Shape &x = step.problem.inputs[0].shape, &w = step.problem.inputs[1].shape,
                &y = step.problem.outputs[0].shape;
    windows.insert(w[2]);
    most_channels[x[2]] = std::max(most_channels[x[2]], x[1]);
    strided |= y[2] * 2 <= x[2] + 1 && x[2] > 1;
    depthwise |= w[1] == 1 && x[1] > 1, grouped |= w[1] > 1 && w[1] < x[1];
  });
  for (const std::int64_t window : {1, 3, 5, 7, 11}) EXPECT_TRUE(windows.contains(window)) << window;
  for (const std::int64_t pixels : {7, 14, 28, 56, 112}) EXPECT_GE(most_channels[pixels], 128) << pixels;
  EXPECT_GE(most_channels[224], 64);
  EXPECT_TRUE(strided && depthwise && grouped);
}

// Small and large ones of every product, in every precision: neither is known by the other.
TEST(LayerProbes, ProductsOfEveryPrecisionAreSmallAndLarge) {
  for (const std::string op : {"conv2d", "conv2d_grad_input", "conv2d_grad_weight", "linear", "matmul"})
    for (std::size_t precision = 0; precision < 3; ++precision) {
      double least = 1e30, most = 0;
      each_step([&](std::size_t of, const Step& step) {
        // Large ones of fp32 are products of 16-bit parts.
        const bool parts = !op.starts_with("conv2d") && step.problem.op == "parts_product";
        if (of != precision || (step.problem.op != op && !parts)) return;
        least = std::min(least, step.cost.multiply_add), most = std::max(most, step.cost.multiply_add);
      });
      EXPECT_LT(least, 2e8) << op << " " << precision;
      EXPECT_GT(most, 8e9) << op << " " << precision;
    }
}

TEST(LayerProbes, ProductsAreLongInEachExtent) {
  std::int64_t most[3] = {};
  each_step([&](std::size_t, const Step& step) {
    if (step.problem.op != "linear") return;
    const Shape &x = step.problem.inputs[0].shape, &w = step.problem.inputs[1].shape;
    most[0] = std::max(most[0], x[0]), most[1] = std::max(most[1], w[0]), most[2] = std::max(most[2], w[1]);
  });
  for (const std::int64_t extent : most) EXPECT_GE(extent, 2500);
}

// Most networks have channels that tiles divide: a fit to others alone is too slow for them.
TEST(LayerProbes, ChannelsAreAsPeopleChooseThem) {
  double all = 0, usual = 0;
  each_step([&](std::size_t, const Step& step) {
    if (step.problem.op != "conv2d") return;
    const Shape& w = step.problem.inputs[1].shape;
    if (w[0] < 64 || w[1] < 64) return;
    all += 1, usual += w[0] % 32 == 0 && w[1] % 32 == 0;
  });
  EXPECT_GT(all, 30);
  EXPECT_GT(usual / all, 0.6);
}

// First layers of small networks and of large ones, with few pictures and with thousands.
TEST(LayerProbes, FirstConvolutionsAreOfOneAndThreeChannels) {
  for (const std::int64_t channels : {1, 3})
    for (std::size_t precision = 0; precision < 3; ++precision) {
      std::int64_t most_images = 0, most_pixels = 0, least_pixels = 1000;
      each_step([&](std::size_t of, const Step& step) {
        if (of != precision || step.problem.op != "conv2d") return;
        const Shape &x = step.problem.inputs[0].shape, &w = step.problem.inputs[1].shape;
        if (w[1] != channels || x[1] != channels) return;
        most_images = std::max(most_images, x[0]);
        most_pixels = std::max(most_pixels, x[2]), least_pixels = std::min(least_pixels, x[2]);
      });
      EXPECT_GE(most_images, channels == 1 ? 500 : 256) << channels << " channels, precision " << precision;
      EXPECT_LE(least_pixels, 48);
      EXPECT_GE(most_pixels, channels == 1 ? 64 : 224);
    }
}

// An evaluation pools within the convolution where that pays: no training step has such a step.
TEST(LayerProbes, EvaluationsHaveConvolutionsWithTheirPool) {
  std::map<std::size_t, int> blocks;  // by precision
  const auto count = [&](std::size_t precision, const Step& step) {
    blocks[precision] += step.problem.op == "conv2d_block";
  };
  each_step(count);
  for (const auto& [precision, found] : blocks) EXPECT_EQ(found, 0) << precision;
  each_step(count, steps_in(Mode::eval));
  for (std::size_t precision = 0; precision < 3; ++precision) EXPECT_GE(blocks[precision], 2) << precision;
}

// Steps that only move memory also leave the caches of the device.
TEST(LayerProbes, MovedBytesExceedTheCache) {
  const double cache = find_machine("h200").levels.front().bytes;
  std::map<std::string, double> most;
  each_step([&](std::size_t, const Step& step) {
    most[step.problem.op] = std::max(most[step.problem.op], step.work.bytes());
  });
  for (const char* op : {"max_pool", "max_pool_grad", "batch_norm", "batch_norm_grad", "relu"})
    EXPECT_GT(most[op], 2 * cache) << op;
}

// None takes long, or much of the host: many fit into a minute.
TEST(LayerProbes, NoneIsLarge) {
  for (const ProbeSteps& probe : layer_steps()) {
    double flops = 0, weights = 0;
    for (const Step& step : probe.plan.steps) flops += step.cost.multiply_add;
    for (const ValueId id : probe.plan.graph.with_role(Role::parameter))
      weights += double(probe.plan.graph.value(id).type.shape.numel());
    EXPECT_LT(flops, 1e12);
    EXPECT_LT(weights, 5e7);
  }
}

TEST(LayerProbes, EveryKindMeetsEveryPrecisionAndOtherKernels) {
  const CalibrateOptions options = three_precisions();
  std::set<std::pair<std::uint64_t, int>> met;
  for (std::uint64_t number = 0; number < kCount; ++number) {
    const EngineOptions engine = probe_options(options, number);
    met.insert({number % kLayerKinds, engine.tf32 ? 1 : engine.precision == DType::bf16 ? 2 : 0});
  }
  EXPECT_EQ(met.size(), 3 * kLayerKinds);
  // Networks of ten kinds, of which five precisions would meet two each if they took plain turns.
  CalibrateOptions five = options;
  five.engines.resize(5), five.engines[3].precision = DType::f16, five.engines[4].precision = DType::f64;
  std::set<std::pair<std::uint64_t, DType>> mixed;
  for (std::uint64_t number = 0; number < 60; ++number)
    mixed.insert({number % 10, probe_options(five, number).precision});
  EXPECT_EQ(mixed.size(), 40u);
}

}  // namespace
}  // namespace headroom
