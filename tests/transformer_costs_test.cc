// Parameters and multiply-adds of ViT and GPT-2, exact to the last integer, compared with closed forms.
#include <gtest/gtest.h>

#include "models/zoo.h"
#include "plan/plan.h"
#include "plan/testing/small_net.h"
#include "train/program.h"

namespace headroom {
namespace {

struct Counts {
  double parameters = 0, forward = 0, backward = 0, arena = 0;
};

// FLOPs are two per multiply-add and for the whole batch; the forms do not include normalisations.
Counts counts_of(const std::string& model, std::int64_t batch) {
  const Program p = make_program(find_net(model), {.mode = Mode::train, .batch = batch});
  const Plan plan = make_plan(p.graph, {Mode::train, batch, DType::f32, cpu_capabilities(1)});
  EXPECT_EQ(testing::find_overwrite(plan), "") << model;
  Counts counts;
  for (const Step& step : plan.steps) {
    if (step.problem.op.starts_with("layer_norm")) continue;
    if (step.phase == Phase::forward) counts.forward += step.cost.multiply_add;
    if (step.phase == Phase::backward) counts.backward += step.cost.multiply_add;
  }
  for (ValueId id : plan.graph.with_role(Role::parameter))
    counts.parameters += double(plan.graph.value(id).type.shape.numel());
  counts.arena = double(plan.arena_bytes);
  return counts;
}

// A block of width d: 4 d d + 2 d h weights, and biases and scales.
double block_weights(double d, double h) { return 4 * d * d + 2 * d * h; }
double block_parameters(double d, double h) { return block_weights(d, h) + 4 * d + h + d + 4 * d; }

// Forward: two FLOPs per weight and token, and 4 d per pair of attending tokens. Backward: twice the products
// with weights, but 10 d per pair (the scores are computed again), and dy . y per token.
struct Stack {
  double width, hidden, depth, tokens, pairs;
  double forward() const { return depth * (2 * tokens * block_weights(width, hidden) + 4 * pairs * width); }
  double backward() const {
    return depth * (4 * tokens * block_weights(width, hidden) + 10 * pairs * width + 2 * tokens * width);
  }
};

struct VitForm {
  std::string options;
  double width, depth, hidden, patch, side, channels, classes;
};

TEST(TransformerCosts, Vit) {
  const std::vector<VitForm> forms = {
      {"size=tiny", 192, 12, 768, 16, 224, 3, 1000},
      {"size=base", 768, 12, 3072, 16, 224, 3, 1000},
      {"size=tiny,input=32,patch=4,channels=1,classes=10,depth=3", 192, 3, 768, 4, 32, 1, 10},
      {"size=tiny,width=60,heads=5,hidden=100,input=48,patch=8,classes=7", 60, 12, 100, 8, 48, 3, 7}};
  for (const VitForm& f : forms)
    for (std::int64_t batch : {1, 3}) {
      SCOPED_TRACE(fmt::format("vit:{} batch {}", f.options, batch));
      const double patches = f.side / f.patch * (f.side / f.patch), t = patches + 1, d = f.width;
      const double patch_weights = d * f.channels * f.patch * f.patch;
      const Stack stack{d, f.hidden, f.depth, t, t * t};
      const Counts counts = counts_of("vit:" + f.options, batch);
      EXPECT_EQ(counts.parameters, patch_weights + d + d + t * d + f.depth * block_parameters(d, f.hidden) +
                                       2 * d + d * f.classes + f.classes);
      const auto n = double(batch);
      EXPECT_EQ(counts.forward, n * (2 * patches * patch_weights + stack.forward() + 2 * d * f.classes));
      EXPECT_EQ(counts.backward, n * (2 * patches * patch_weights + stack.backward() + 4 * d * f.classes));
    }
  EXPECT_EQ(counts_of("vit:size=tiny", 1).parameters, 5'717'416);
  EXPECT_EQ(counts_of("vit:size=base", 1).parameters, 86'567'656);
}

struct GptForm {
  std::string options;
  double width, depth, hidden, context, vocab;
};

TEST(TransformerCosts, Gpt2) {
  const std::vector<GptForm> forms = {
      {"size=small", 768, 12, 3072, 1024, 50257},
      {"size=tiny", 128, 4, 512, 128, 256},
      {"size=tiny,width=48,heads=3,depth=2,context=33,vocab=99", 48, 2, 192, 33, 99}};
  for (const GptForm& f : forms)
    for (std::int64_t batch : {1, 2}) {
      SCOPED_TRACE(fmt::format("gpt2:{} batch {}", f.options, batch));
      const double t = f.context, d = f.width;
      const Stack stack{d, f.hidden, f.depth, t, t * (t + 1) / 2};
      const Counts counts = counts_of("gpt2:" + f.options, batch);
      EXPECT_EQ(counts.parameters, f.vocab * d + t * d + f.depth * block_parameters(d, f.hidden) + 2 * d);
      const auto n = double(batch);
      EXPECT_EQ(counts.forward, n * (stack.forward() + 2 * t * d * f.vocab));
      EXPECT_EQ(counts.backward, n * (stack.backward() + 4 * t * d * f.vocab));
    }
  EXPECT_EQ(counts_of("gpt2", 1).parameters, 124'439'808);
}

// Twice the time needs twice the memory: nothing of size time x time is stored. One score each would be
// 4 bytes per pair and head.
TEST(TransformerCosts, MemoryGrowsWithTimeNotItsSquare) {
  const auto arena = [](int context) {
    return counts_of(fmt::format("gpt2:size=tiny,context={}", context), 1).arena;
  };
  const double once = arena(2048), twice = arena(4096);
  EXPECT_NEAR(twice / once, 2, 0.05);
  EXPECT_LT(twice, 4.0 * 4 * 4096 * 4096) << "the scores of one layer alone";
}

}  // namespace
}  // namespace headroom
