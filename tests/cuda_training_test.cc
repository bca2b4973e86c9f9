// Whole networks on a GPU: compared with the CPU, captured with step by step, one feed with another.
#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/bad_input.h"
#include "bench/switches.h"
#include "models/layers.h"
#include "models/testing/small_models.h"
#include "train/compare.h"
#include "train/weights.h"

namespace headroom {
namespace {

using testing::expect_rejected;

class CudaTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    gpu_ = open_device("cuda");
    cpu_ = open_device("cpu");
  }
  // Random pictures of the model's size, a little more than ten batches.
  static Dataset pictures(const Net& net, std::int64_t count) {
    Dataset data{.name = "random"};
    data.classes = 10;
    std::uint32_t bits = 12345;
    for (Split* split : {&data.train, &data.test}) {
      split->image = Shape(net.input);
      for (std::int64_t i = 0; i < count; ++i) split->labels.push_back(static_cast<std::uint8_t>(i % 10));
      for (std::int64_t i = 0; i < count * split->image.numel(); ++i)
        split->pixels.push_back(static_cast<std::uint8_t>((bits = bits * 1664525 + 1013904223) >> 24));
    }
    return data;
  }
  static TrainOptions options(std::int64_t batch) {
    TrainOptions o;
    o.batch = batch, o.epochs = 1, o.lr = 0.01, o.shuffle = true;
    return o;
  }
  // Weights after training, all arrays in a row.
  std::vector<double> trained(const char* model, EngineOptions engine_options, TrainOptions o,
                              std::int64_t images, double momentum = 0.9) {
    engine_options.update.momentum = momentum;
    Engine engine(find_net(model), *gpu_, engine_options);
    const Dataset data = pictures(engine.net(), images);
    TrainObserver silent;
    train(engine, data, o, silent);
    std::vector<double> all;
    for (const std::string& name : engine.weight_names())
      dispatch_float(engine.storage().type(name).dtype, [&]<class T>() {
        std::vector<T> values(static_cast<std::size_t>(engine.storage().type(name).shape.numel()));
        engine.storage().read(name, values.data(), values.size() * sizeof(T));
        all.insert(all.end(), values.begin(), values.end());
      });
    return all;
  }
  std::unique_ptr<Device> gpu_, cpu_;
};

// Ten steps. Each rounds sums differently from the CPU; networks with pooling may also pick another of two
// equal maxima. The bound is a thousand roundings.
TEST_F(CudaTraining, TenStepsAgreeWithTheCpu) {
  for (DType dtype : {DType::f64, DType::f32})
    for (const char* model : {"mlp:hidden=100", "lenet5", "ece408"}) {
      const std::int64_t batch = 20;
      Engine gpu(find_net(model), *gpu_, {.precision = dtype, .seed = 3, .update = {.momentum = 0.9}});
      Engine cpu(find_net(model), *cpu_, {.precision = dtype, .seed = 3, .update = {.momentum = 0.9}});
      const auto list = compare_training(gpu, cpu, pictures(gpu.net(), 10 * batch), options(batch),
                                         [](const Divergence&) {});
      ASSERT_EQ(list.back().step, 10);
      for (const ArrayDistance& array : list.back().arrays) {
        std::printf("    %s %s %-24s relative error %.2e\n", model, std::string(name_of(dtype)).c_str(),
                    array.name.c_str(), array.relative);
        EXPECT_LE(array.relative, 1e3 * unit_roundoff(dtype)) << model << " " << array.name;
      }
    }
}

// Losses agree to a few roundings of the short type, weights to one rounding of their own size. Biases start
// at zero and hold only ten gradients, so their error is only printed.
TEST_F(CudaTraining, ShortPrecisionsFollowFp32) {
  struct Row {
    const char* name;
    DType dtype;
    bool tf32;
    double roundoff;
  };
  for (const Row& row : {Row{"tf32", DType::f32, true, std::ldexp(1.0, -11)},
                         Row{"bf16", DType::bf16, false, std::ldexp(1.0, -8)},
                         Row{"fp16", DType::f16, false, std::ldexp(1.0, -11)}})
    for (const char* model : {"mlp:hidden=100", "lenet5", "ece408"}) {
      Engine gpu(find_net(model), *gpu_, {.precision = row.dtype, .tf32 = row.tf32, .seed = 3});
      Engine cpu(find_net(model), *cpu_, {.seed = 3});
      const auto list =
          compare_training(gpu, cpu, pictures(gpu.net(), 200), options(20), [](const Divergence&) {});
      const Divergence& last = list.back();
      EXPECT_NEAR(last.loss, last.other_loss, 8 * row.roundoff * last.other_loss) << model;
      for (const ArrayDistance& array : last.arrays) {
        std::printf("    %s %s %-24s relative error %.2e\n", model, row.name, array.name.c_str(),
                    array.relative);
        if (!array.name.ends_with(".weight")) continue;
        EXPECT_LE(array.relative, row.roundoff) << model << array.name;
      }
      EXPECT_GT(last.worst(), 0) << model;
    }
}

// Steps of every zoo network in every precision: each operator they use has a kernel for it.
TEST_F(CudaTraining, EveryModelRunsInEveryPrecision) {
  struct Row {
    DType dtype;
    bool tf32;
  };
  std::vector<std::string> models = testing::small_models();
  for (const std::string more : {"ece408:term=2019sp", "resnet:version=1.5,depth=18,stem=cifar,width=0.25",
                                 "squeezenet:version=1.1,input=33,width=0.25,classes=10",
                                 "vgg:bn=on,depth=11,width=0.125,input=32,classes=10",
                                 "alexnet:activation=relu,dropout=0.5,width=0.125,input=67,classes=10"})
    models.push_back(more);
  std::erase_if(models, [](const std::string& model) { return reads_tokens(find_net(model)); });
  for (const std::string& model : models)
    for (const Row& row : {Row{DType::f64, false}, Row{DType::f32, false}, Row{DType::f32, true},
                           Row{DType::bf16, false}, Row{DType::f16, false}}) {
      SCOPED_TRACE(fmt::format("{} in {}{}", model, name_of(row.dtype), row.tf32 ? ", tf32" : ""));
      Engine engine(find_net(model), *gpu_, {.precision = row.dtype, .tf32 = row.tf32, .seed = 3});
      const Dataset data = pictures(engine.net(), 96);
      TrainObserver silent;
      const TrainResult result = train(engine, data, options(24), silent);
      EXPECT_EQ(result.state.steps, 4);
      EXPECT_TRUE(std::isfinite(result.state.last_loss));
      EXPECT_TRUE(std::isfinite(result.last_eval.loss));
    }
}

TEST_F(CudaTraining, CapturedAndStepByStepGiveTheSameBits) {
  for (const char* model : {"mlp:hidden=100", "lenet5", "ece408"})
    for (DType dtype : {DType::f32, DType::bf16})
      EXPECT_EQ(trained(model, {.precision = dtype, .capture = true, .seed = 2}, options(32), 500),
                trained(model, {.precision = dtype, .capture = false, .seed = 2}, options(32), 500))
          << model;
}

// Without momentum a step of a perceptron is the launches of mlp_classifier alone, and in a captured run of
// several steps each of them starts while the one before is under way.
TEST_F(CudaTraining, StepsThatOverlapGiveTheSameBits) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"mlp:hidden=100", 800}, {"mlp:hidden=64", 3200}, {"mlp:hidden=30", 100}, {"mlp:hidden=16", 16}};
  for (const auto& [model, batch] : cases)
    for (const bool shuffle : {false, true})
      for (const bool tf32 : {false, true}) {
        TrainOptions o = options(batch);
        o.shuffle = shuffle, o.epochs = 2, o.lr = 0.1;
        const auto run = [&](bool capture) {
          return trained(model, {.tf32 = tf32, .capture = capture, .seed = 2, .update = {.l2 = 1e-4}}, o,
                         20 * batch, 0);
        };
        const auto apart = run(false);
        for (int again = 0; again < 3; ++again)
          EXPECT_EQ(run(true), apart) << model << " shuffled: " << shuffle;
      }
}

// Step by step the host reads the loss of each step, in a captured run the sum of many.
TEST_F(CudaTraining, CapturedAndStepByStepReportTheSameLoss) {
  for (const char* model : {"mlp:hidden=100", "lenet5"})
    for (const double momentum : {0.0, 0.9}) {
      struct LastLoss final : TrainObserver {
        void on_epoch(const EpochResult& epoch) override { loss = epoch.loss; }
        double loss = 0;
      };
      const auto loss_of = [&](bool capture) {
        Engine engine(find_net(model), *gpu_,
                      {.capture = capture, .seed = 2, .update = {.momentum = momentum}});
        TrainOptions o = options(80);
        o.lr = 0.1;
        LastLoss last;
        train(engine, pictures(engine.net(), 800), o, last);
        return last.loss;
      };
      EXPECT_NEAR(loss_of(true), loss_of(false), 1e-6 * loss_of(false)) << model << " momentum " << momentum;
    }
}

TEST_F(CudaTraining, TwoStreamsGiveTheSameBits) {
  for (const char* model : {"lenet5", "lenet5:pool=avg,activation=tanh", "mlp:hidden=100", "ece408"})
    for (bool tf32 : {false, true}) {
      const auto one = trained(model, {.tf32 = tf32, .streams = 1, .seed = 2}, options(64), 1000);
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(trained(model, {.tf32 = tf32, .streams = 2, .seed = 2}, options(64), 1000), one) << model;
    }
}

TEST_F(CudaTraining, DeterministicRunsGiveTheSameBits) {
  for (const char* model : {"mlp:hidden=100", "lenet5", "ece408"}) {
    const EngineOptions engine{.deterministic = true, .seed = 2};
    EXPECT_EQ(trained(model, engine, options(32), 500), trained(model, engine, options(32), 500)) << model;
  }
}

TEST_F(CudaTraining, EveryFeedGivesTheSameBits) {
  TrainOptions o = options(32);
  const auto resident = trained("lenet5", {.seed = 2}, o, 500);
  o.feed.resident = false;
  EXPECT_EQ(trained("lenet5", {.seed = 2}, o, 500), resident);
  o.feed.reuse = false;
  EXPECT_EQ(trained("lenet5", {.seed = 2}, o, 500), resident);
  o.feed.overlap = false;
  EXPECT_EQ(trained("lenet5", {.seed = 2}, o, 500), resident);
  o.feed.pinned = false;
  EXPECT_EQ(trained("lenet5", {.seed = 2}, o, 500), resident);
}

TEST_F(CudaTraining, NothingIsAllocatedAfterTheFirstSteps) {
  Engine engine(find_net("lenet5"), *gpu_, {.seed = 2, .update = {.kind = "adam"}});
  const Dataset data = pictures(engine.net(), 3200);
  std::vector<std::size_t> free;
  TrainOptions o = options(32);
  o.stop = [&] {
    free.push_back(gpu_->free_bytes_now());
    return false;
  };
  TrainObserver silent;
  train(engine, data, o, silent);
  ASSERT_EQ(free.size(), 100u);
  for (std::size_t i = 20; i < free.size(); ++i) EXPECT_EQ(free[i], free[20]) << i;
}

TEST_F(CudaTraining, ALossThatIsNotFiniteStopsTheRun) {
  for (bool capture : {true, false}) {
    Engine engine(find_net("mlp:hidden=32"), *gpu_, {.capture = capture, .seed = 2});
    const Dataset data = pictures(engine.net(), 320);
    TrainOptions o = options(32);
    o.lr = INFINITY;
    TrainObserver silent;
    try {
      train(engine, data, o, silent);
      ADD_FAILURE() << "trained with an infinite rate";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("at step"), std::string::npos) << error.what();
    }
  }
}

TEST_F(CudaTraining, AModelLargerThanTheCardIsRefusedWithABatchThatFits) {
  expect_rejected(
      [&] {
        Engine engine(find_net("ece408"), *gpu_, {});
        engine.ready(Mode::train, 4'000'000);
      },
      {"needs", "has"});
}

TEST_F(CudaTraining, CopiesHideBehindComputing) {
  EXPECT_GE(hidden_share(bench_switches(*gpu_, {"ece408", 100, 10'000}, {})), 0.9);
}

}  // namespace
}  // namespace headroom
