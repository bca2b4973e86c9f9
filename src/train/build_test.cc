#include "train/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/testing/small_models.h"
#include "models/zoo.h"
#include "ops/testing/harness.h"
#include "train/forecast.h"
#include "train/settings.h"

namespace headroom {
namespace {

Machine cpu_machine(const std::string& name) {
  Machine cpu;
  cpu.name = name;
  cpu.kind = "cpu";
  cpu.peak_flops = {{"fp32", 1e11}};
  cpu.levels = {{.name = "memory", .bytes = 1e9, .bytes_per_s = 1e10}};
  return cpu;
}

// Everything the executor runs, as text: equal texts mean equal plans.
std::string all_of(const Plan& plan) {
  std::string text = fmt::format("{} {} {} arena {}\n", name_of(plan.binding.mode), plan.binding.batch,
                                 plan.binding.streams, plan.arena_bytes);
  for (const Step& step : plan.steps) {
    text += fmt::format("{} {} {} {} workspace {}+{} waits {}", name_of(step.phase), step.stream,
                        step.full_name(), step.problem.str(), step.workspace_offset, step.workspace,
                        fmt::join(step.waits, ","));
    for (const auto* list : {&step.inputs, &step.outputs})
      for (const Slot& slot : *list) text += fmt::format(" {}:{}", static_cast<int>(slot.where), slot.offset);
    text += "\n";
  }
  return text;
}

// The plan that `predict` makes for this machine is the plan that the engine runs.
void expect_same_plans(Device& device, const Machine& machine, EngineOptions options, int threads) {
  TuningTable table;
  options.tuning = &table;
  for (const std::string& model : testing::small_models()) {
    SCOPED_TRACE(model);
    options.update = usual_update(train_defaults(model));
    const Net net = find_net(model);
    Engine engine(net, device, options);
    for (const Mode mode : {Mode::train, Mode::eval}) {
      const Plan& run = engine.ready(mode, 4).plan();
      const Plan read = forecast(net, machine, options, mode, 4, threads).built->plan;
      EXPECT_EQ(all_of(read), all_of(run));
    }
  }
}

TEST(Build, PredictPlansWhatTheEngineRunsOnTheCpu) {
  const auto device = open_device("cpu", 2);
  for (DType dtype : {DType::f32, DType::f64})
    expect_same_plans(*device, cpu_machine("here"), {.precision = dtype}, 2);
}

TEST(CudaBuild, PredictPlansWhatTheEngineRunsOnTheGpu) {
  std::string why;
  Device* gpu = testing::test_gpu(&why);
  if (gpu == nullptr) GTEST_SKIP() << "no GPU here: " << why;
  Machine machine = find_machine("h200");
  machine.name = "here-gpu";
  machine.title = gpu->capabilities().name;
  expect_same_plans(*gpu, machine, {}, 0);
  expect_same_plans(*gpu, machine, {.tf32 = true}, 0);
  expect_same_plans(*gpu, machine, {.precision = DType::bf16}, 0);
  expect_same_plans(*gpu, machine, {.deterministic = false, .capture = false}, 0);
}

// A loss is read once it was made: in most networks before the update, in a perceptron's fused step with it.
TEST(Build, KnowsWhenTheLossIsMade) {
  const auto loss_of = [](const char* net, const char* machine, Update update) {
    const Built built =
        *forecast(find_net(net), find_machine(machine), {.update = update}, Mode::train, 800).built;
    return phase_of(built.plan, built.program.loss);
  };
  EXPECT_EQ(loss_of("mlp:hidden=100", "h200", {}), Phase::update);
  EXPECT_EQ(loss_of("mlp:hidden=100", "h200", {.l2 = 0.001}), Phase::update);
  EXPECT_EQ(loss_of("mlp:hidden=100", "h200", {.momentum = 0.9}), Phase::forward);
  EXPECT_EQ(loss_of("lenet5", "h200", {}), Phase::forward);
  EXPECT_EQ(loss_of("mlp:hidden=100", "t4", {}), Phase::forward);
}

// A plan for another CPU uses that CPU's vectors and cores, not this host's.
TEST(Build, AnotherCpuHasItsOwnVectorsAndThreads) {
  Machine other = cpu_machine("other");
  other.cores = 48, other.vector_bytes = 64;
  const Capabilities cpu = capabilities_of(other);
  EXPECT_EQ(cpu.threads, 48);
  EXPECT_EQ(cpu.vector_bytes, 64);
  EXPECT_EQ(capabilities_of(other, 3).threads, 3);
  const Plan plan = forecast(find_net("lenet5"), other, {}, Mode::train, 8).built->plan;
  EXPECT_EQ(plan.binding.target.device.vector_bytes, 64);
  EXPECT_EQ(capabilities_of(cpu_machine("here"), 2).vector_bytes, cpu_capabilities().vector_bytes);
}

TEST(Build, ExplainsItsPassesInOrder) {
  const Built built =
      build(find_net("lenet5"), {.mode = Mode::train, .batch = 4, .target = cpu_capabilities(1)});
  const std::vector<std::string> known = pass_names();
  std::size_t last = 0;
  for (const PassReport& report : built.passes) {
    const auto it = std::find(known.begin() + static_cast<std::ptrdiff_t>(last), known.end(), report.pass);
    ASSERT_NE(it, known.end()) << report.pass << " is out of order";
    last = static_cast<std::size_t>(it - known.begin());
  }
  EXPECT_EQ(std::set<std::string>(known.begin(), known.end()).size(), known.size());
  const std::string text = built.explain();
  for (const char* part : {"lower", "differentiate", "fuse ", "conv2d_grad_weight +3", "relu -", "plan",
                           "steps on 1 stream", "conv2d"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Build, AGpuOfTheTableGetsGpuKernels) {
  const Machine h200 = find_machine("h200");
  for (const char* model : {"lenet5", "resnet:depth=18,input=64,classes=10"})
    for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const Forecast made = forecast(find_net(model), h200, {.precision = dtype}, Mode::train, 16);
      const Built& built = *made.built;
      const Prediction& p = made.prediction;
      ASSERT_FALSE(built.plan.steps.empty());
      EXPECT_EQ(built.plan.binding.streams, EngineOptions{}.streams) << "as the engine runs it";
      for (const Step& step : built.plan.steps) {
        ASSERT_NE(step.kernel, nullptr) << step.problem.str() << ": " << step.why;
        EXPECT_EQ(step.kernel->device, DeviceKind::cuda);
      }
      EXPECT_TRUE(p.has_times);
      EXPECT_GE(p.predicted_s, p.floor_s);
    }
}

// How many steps of a plan for an H200 run an operator.
std::map<std::string, int> operators_on_h200(const char* model, Mode mode, DType dtype, bool tf32,
                                             Chooser choose) {
  Target target = capabilities_of(find_machine("h200"));
  target.policy.tf32 = tf32;
  const Built built =
      build(find_net(model),
            {.mode = mode, .batch = 64, .precision = dtype, .target = target, .choose = std::move(choose)});
  std::map<std::string, int> counts;
  for (const Step& step : built.plan.steps) ++counts[step.problem.op];
  return counts;
}

// Of 64 images the first layer alone pays, whose images have one channel.
TEST(Build, PoolsAreFusedOnAGpuWhereAKernelPaysOrIsForced) {
  const Chooser block = forced({{"conv2d_block", "cuda:block_mma"}});
  struct Wanted {
    const char* model;
    int blocks, convolutions, pools;
  };
  for (const auto& [model, blocks, convolutions, pools] :
       {Wanted{"ece408", 1, 1, 0}, Wanted{"lenet5:pool=avg", 2, 1, 0}, Wanted{"ece408:term=2020fa", 2, 0, 0}})
    for (const auto& [dtype, tf32] :
         {std::pair{DType::f32, false}, {DType::f32, true}, {DType::f16, false}}) {
      SCOPED_TRACE(model);
      for (const Mode mode : {Mode::eval, Mode::infer}) {
        auto counts = operators_on_h200(model, mode, dtype, tf32, block);
        EXPECT_EQ(counts["conv2d_block"], blocks);
        EXPECT_EQ(counts["conv2d"], convolutions);
        EXPECT_EQ(counts["max_pool"] + counts["avg_pool"], pools);
        EXPECT_EQ(operators_on_h200(model, mode, dtype, tf32, first_that_accepts)["conv2d_block"], 1);
      }
      EXPECT_EQ(operators_on_h200(model, Mode::train, dtype, tf32, block)["conv2d_block"], 0);
    }
  // What the kernel refuses stays as it is.
  EXPECT_EQ(operators_on_h200("ece408", Mode::eval, DType::f64, false, block)["conv2d_block"], 0);
}

// In tf32 the pixels of a large batch are split once for both products that read them; alone neither would.
TEST(Build, LargeProductsOfTheInputShareItsParts) {
  const auto parts = [](const char* model, Mode mode, bool tf32, std::int64_t batch, const Chooser& choose) {
    Target target = capabilities_of(find_machine("h200"));
    target.policy.tf32 = tf32;
    const Built built =
        build(find_net(model), {.mode = mode, .batch = batch, .target = target, .choose = choose});
    return std::ranges::count(built.plan.steps, "parts_product",
                              [](const Step& step) { return step.problem.op; });
  };
  EXPECT_EQ(parts("mlp:hidden=512", Mode::train, true, 3000, first_that_accepts), 2);
  EXPECT_EQ(parts("mlp:hidden=512", Mode::eval, true, 3000, first_that_accepts), 0);
  EXPECT_EQ(parts("mlp:hidden=512", Mode::train, true, 256, first_that_accepts), 0);
  EXPECT_EQ(parts("mlp:hidden=512", Mode::train, true, 3000, forced({{"linear", "cuda:cublaslt"}})), 0);
}

// Who asks for other kernels, or for a library's, gets them for every convolution.
TEST(Build, PoolsAreNotFusedOnAGpuAgainstTheUsersWish) {
  const auto blocks = [](const char* kernel) {
    return operators_on_h200("ece408", Mode::eval, DType::f32, false,
                             forced({{"conv2d", kernel}}))["conv2d_block"];
  };
  EXPECT_EQ(blocks("library"), 0);
  EXPECT_EQ(blocks("cuda:image_mma"), 0);
  EXPECT_EQ(blocks("own"), 1);
}

TEST(Build, PoolsAreFusedOnACpuWhereTheConvolutionKeepsItsKernel) {
  auto operators = [](Mode mode, Chooser choose) {
    std::map<std::string, int> counts;
    const Built built = build(find_net("ece408"), {.mode = mode, .batch = 64, .choose = std::move(choose)});
    for (const Step& step : built.plan.steps) ++counts[step.problem.op];
    return counts;
  };
  for (const Mode mode : {Mode::eval, Mode::infer}) {
    auto fused = operators(mode, forced({{"conv2d", "cpu:pixel_lanes"}}));
    EXPECT_EQ(fused["conv2d_block"], 1);
    EXPECT_EQ(fused["conv2d"], 1);
    EXPECT_EQ(fused["max_pool"], 0);
    auto apart = operators(mode, forced({{"conv2d", "cpu:im2col_gemm"}}));
    EXPECT_EQ(apart["conv2d_block"], 0);
    EXPECT_EQ(apart["max_pool"], 1);
  }
  EXPECT_EQ(operators(Mode::train, first_that_accepts)["conv2d_block"], 0);
}

TEST(Build, BlockMmaRunsPlainConvolutionsWhenForced) {
  Target target = capabilities_of(find_machine("h200"));
  const Built built =
      build(find_net("ece408"),
            {.mode = Mode::eval,
             .batch = 10000,
             .target = target,
             .choose = forced({{"conv2d", "cuda:block_mma"}, {"conv2d_block", "cuda:block_mma"}})});
  int steps = 0;
  for (const Step& step : built.plan.steps)
    if (step.kernel != nullptr && step.kernel->name == "cuda:block_mma") {
      ++steps;
      EXPECT_EQ(step.work.launch_count(), 1);
      EXPECT_GT(step.work.launches.front().useful, 0.7) << step.problem.str();
      EXPECT_GE(step.work.launches.front().blocks, 132);
    }
  EXPECT_EQ(steps, 2);
}

TEST(Build, AnOldGpuGetsTheVendorsKernelsOrNone) {
  const Machine k80 = find_machine("k80");
  const Forecast made = forecast(find_net("lenet5"), k80, {}, Mode::eval, 4);
  const Built& built = *made.built;
  int vendors = 0;
  for (const Step& step : built.plan.steps) {
    EXPECT_TRUE(step.kernel == nullptr || step.kernel->vendor) << step.kernel_name();
    vendors += step.kernel != nullptr;
  }
  EXPECT_GT(vendors, 0);
  EXPECT_GT(made.prediction.predicted_s, 0);
}

}  // namespace
}  // namespace headroom
