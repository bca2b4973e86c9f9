// A network in NHWC on a GPU compared with NCHW on the CPU, and with itself.
#include <gtest/gtest.h>

#include <cmath>

#include "train/compare.h"
#include "train/trainer.h"

namespace headroom {
namespace {

// Everything the layout affects: a residual connection, joined branches, both kinds of pooling, biases,
// grouped and strided convolutions, a flatten of more than one pixel.
constexpr const char* kNet = R"({"name": "mixed", "input": [3, 20, 20], "layers": [
  {"type": "conv2d", "name": "stem", "maps": 32, "kernel": [3, 3], "pad": [1, 1, 1, 1], "bias": false},
  {"type": "batch_norm", "name": "stem_bn", "activation": "relu"},
  {"type": "max_pool", "name": "pool", "kernel": [3, 3], "stride": [2, 2], "pad": [1, 1, 1, 1]},
  {"type": "conv2d", "name": "a", "maps": 32, "kernel": [1, 1], "bias": false},
  {"type": "batch_norm", "name": "a_bn", "activation": "relu"},
  {"type": "conv2d", "name": "b", "maps": 32, "kernel": [3, 3], "pad": [1, 1, 1, 1], "bias": false},
  {"type": "batch_norm", "name": "b_bn"},
  {"type": "add", "name": "sum", "from": ["b_bn", "pool"]},
  {"type": "relu", "name": "block"},
  {"type": "conv2d", "name": "left", "maps": 24, "kernel": [3, 3], "pad": [1, 1, 1, 1], "activation": "relu",
   "from": ["block"]},
  {"type": "conv2d", "name": "right", "maps": 40, "kernel": [1, 1], "activation": "relu", "from": ["block"]},
  {"type": "concat", "name": "both", "from": ["left", "right"]},
  {"type": "conv2d", "name": "groups", "maps": 64, "groups": 4, "kernel": [3, 3], "stride": [2, 2],
   "activation": "relu"},
  {"type": "avg_pool", "name": "mean", "kernel": [2, 2]},
  {"type": "flatten", "name": "flat"},
  {"type": "linear", "name": "fc", "units": 10}]})";

struct Precision {
  const char* name;
  DType dtype;
  bool tf32;
  double roundoff;
};
const Precision kPrecisions[] = {{"tf32", DType::f32, true, std::ldexp(1.0, -11)},
                                 {"bf16", DType::bf16, false, std::ldexp(1.0, -8)},
                                 {"fp16", DType::f16, false, std::ldexp(1.0, -11)}};

class CudaLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    gpu_ = open_device("cuda");
    cpu_ = open_device("cpu");
  }
  static Dataset pictures(std::int64_t count) {
    Dataset data{.name = "random"};
    data.classes = 10;
    std::uint32_t bits = 12345;
    for (Split* split : {&data.train, &data.test}) {
      split->image = Shape({3, 20, 20});
      for (std::int64_t i = 0; i < count; ++i) split->labels.push_back(static_cast<std::uint8_t>(i % 10));
      for (std::int64_t i = 0; i < count * split->image.numel(); ++i)
        split->pixels.push_back(static_cast<std::uint8_t>((bits = bits * 1664525 + 1013904223) >> 24));
    }
    return data;
  }
  static EngineOptions options(const Precision& p, LayoutWish layout) {
    return {.precision = p.dtype, .tf32 = p.tf32, .seed = 3, .layout = layout};
  }
  static TrainOptions ten_steps() {
    TrainOptions o;
    o.batch = 20, o.epochs = 1, o.lr = 0.005, o.shuffle = true;
    return o;
  }
  std::vector<double> trained(EngineOptions engine_options) {
    Engine engine(parse_net(kNet, "test"), *gpu_, std::move(engine_options));
    TrainObserver silent;
    train(engine, pictures(200), ten_steps(), silent);
    std::vector<double> all;
    for (const std::string& name : engine.weight_names()) {
      std::vector<float> values(static_cast<std::size_t>(engine.storage().type(name).shape.numel()));
      engine.storage().read(name, values.data(), values.size() * sizeof(float));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  std::unique_ptr<Device> gpu_, cpu_;
};

TEST_F(CudaLayout, TenStepsInNhwcFollowTheCpu) {
  for (const Precision& p : kPrecisions) {
    Engine gpu(parse_net(kNet, "test"), *gpu_, options(p, LayoutWish::nhwc));
    Engine cpu(parse_net(kNet, "test"), *cpu_, {.seed = 3});
    const Plan& plan = gpu.ready(Mode::train, 20).plan();
    EXPECT_NE(plan.text().find("relayout"), std::string::npos);
    const auto list = compare_training(gpu, cpu, pictures(200), ten_steps(), [](const Divergence&) {});
    for (const Divergence& step : list)
      EXPECT_NEAR(step.loss, step.other_loss, 32 * p.roundoff * step.other_loss)
          << p.name << " " << step.step;
    for (const ArrayDistance& array : list.back().arrays) {
      std::printf("    %s %-24s relative error %.2e\n", p.name, array.name.c_str(), array.relative);
      if (!array.name.ends_with(".weight")) continue;
      EXPECT_LE(array.relative, 8 * p.roundoff) << p.name << array.name;
    }
  }
}

TEST_F(CudaLayout, CapturedStepsAndDeterministicRunsRepeatToTheBit) {
  for (const Precision& p : kPrecisions) {
    EngineOptions o = options(p, LayoutWish::nhwc);
    o.deterministic = true;
    const std::vector<double> first = trained(o);
    EXPECT_EQ(first, trained(o)) << p.name;
    o.capture = false;
    EXPECT_EQ(first, trained(o)) << p.name << ", step by step";
  }
}

}  // namespace
}  // namespace headroom
