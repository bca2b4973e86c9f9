// Transformers on a GPU compared with the CPU, in every precision, and with themselves.
#include <gtest/gtest.h>

#include <cmath>

#include "headroom/net.h"
#include "train/compare.h"

namespace headroom {
namespace {

constexpr const char* kGpt2 = "gpt2:width=64,heads=2,depth=2,context=70,vocab=251";
constexpr const char* kVit = "vit:width=64,heads=2,depth=2,input=32,patch=4,channels=1,classes=10";

class CudaTransformers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    gpu_ = open_device("cuda");
    cpu_ = open_device("cpu");
  }
  static Dataset data_for(const Net& net, std::int64_t items) {
    Dataset data{.name = "random", .classes = net.input.size() == 1 ? 251 : 10};
    std::uint32_t bits = 12345;
    auto byte = [&] { return static_cast<std::uint8_t>((bits = bits * 1664525 + 1013904223) >> 24); };
    for (Split* split : {&data.train, &data.test}) {
      split->image = Shape(net.input);
      const std::int64_t elements = items * split->image.numel();
      if (net.input.size() == 1)
        for (std::int64_t i = 0; i <= elements; ++i) split->text.push_back(byte() % 251);
      else
        for (std::int64_t i = 0; i < elements; ++i) split->pixels.push_back(byte());
      if (net.input.size() > 1)
        for (std::int64_t i = 0; i < items; ++i) split->labels.push_back(static_cast<std::uint8_t>(i % 10));
    }
    return data;
  }
  static TrainOptions options() {
    TrainOptions o;
    o.batch = 8, o.epochs = 1, o.lr = 0.01, o.shuffle = true;
    return o;
  }
  Divergence ten_steps(const char* model, const EngineOptions& how, DType cpu_precision) {
    Engine gpu(find_net(model), *gpu_, how);
    Engine cpu(find_net(model), *cpu_, {.precision = cpu_precision, .seed = how.seed, .update = how.update});
    return compare_training(gpu, cpu, data_for(gpu.net(), 80), options(), [](const Divergence&) {}).back();
  }
  std::unique_ptr<Device> gpu_, cpu_;
};

TEST_F(CudaTransformers, TenStepsAgreeWithTheCpu) {
  for (const char* model : {kGpt2, kVit})
    for (DType dtype : {DType::f64, DType::f32}) {
      const Divergence last = ten_steps(model, {.precision = dtype, .seed = 3}, dtype);
      EXPECT_EQ(last.step, 10);
      for (const ArrayDistance& array : last.arrays) {
        std::printf("    %.4s %s %-28s relative error %.2e\n", model, std::string(name_of(dtype)).c_str(),
                    array.name.c_str(), array.relative);
        if (!array.name.ends_with(".weight")) continue;
        EXPECT_LE(array.relative, 1e3 * unit_roundoff(dtype)) << model << " " << array.name;
      }
    }
}

TEST_F(CudaTransformers, ShortPrecisionsFollowFp32) {
  struct Row {
    const char* name;
    DType dtype;
    bool tf32;
    double roundoff;
  };
  for (const Row& row : {Row{"tf32", DType::f32, true, std::ldexp(1.0, -11)},
                         Row{"bf16", DType::bf16, false, std::ldexp(1.0, -8)},
                         Row{"fp16", DType::f16, false, std::ldexp(1.0, -11)}})
    for (const char* model : {kGpt2, kVit}) {
      const Divergence last =
          ten_steps(model, {.precision = row.dtype, .tf32 = row.tf32, .seed = 3}, DType::f32);
      EXPECT_NEAR(last.loss, last.other_loss, 8 * row.roundoff * last.other_loss) << model << " " << row.name;
      std::printf("    %.4s %s worst relative error %.2e\n", model, row.name, last.worst());
    }
}

// Captured or step by step, resident or streamed: the same batches and the same bits.
TEST_F(CudaTransformers, RepeatToTheBit) {
  for (const char* model : {kGpt2, kVit})
    for (DType dtype : {DType::f32, DType::bf16}) {
      Engine one(find_net(model), *gpu_, {.precision = dtype, .seed = 3}),
          two(find_net(model), *gpu_, {.precision = dtype, .capture = false, .seed = 3});
      const Dataset data = data_for(one.net(), 83);
      TrainObserver silent;
      TrainOptions resident = options(), streamed = options();
      streamed.feed.resident = false;
      const TrainResult a = train(one, data, resident, silent), b = train(two, data, streamed, silent);
      EXPECT_EQ(a.state.last_loss, b.state.last_loss) << model;
      EXPECT_NEAR(a.last_eval.accuracy, b.last_eval.accuracy, 0) << model;
      EXPECT_NEAR(a.state.epochs[0].train_accuracy, b.state.epochs[0].train_accuracy, 1e-12) << model;
      for (const ArrayDistance& array : weight_distances(one, two))
        EXPECT_EQ(array.relative, 0) << array.name;
    }
}

}  // namespace
}  // namespace headroom
