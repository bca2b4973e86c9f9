// The plan of one of several ranks: who holds what, and what a step exchanges, by the closed forms.
#include <gtest/gtest.h>

#include "base/shares.h"
#include "models/zoo.h"
#include "ops/all_reduce/all_reduce.h"
#include "predict/predict.h"
#include "train/build.h"
#include "train/rank_times.h"

namespace headroom {
namespace {

Plan plan_of(const std::string& model, std::int64_t batch, Distribution ranks, std::string update = "sgd") {
  const std::int64_t own = share_of(batch, ranks.data_parts, ranks.data_index).count;
  return build(find_net(model), {.mode = Mode::train,
                                 .batch = own,
                                 .target = Target(cpu_capabilities(1), {}, ranks),
                                 .update = parse_update(update),
                                 .global_batch = batch})
      .plan;
}

std::int64_t payload(const GroupTraffic& traffic) { return traffic.bytes - traffic.report_bytes; }

TEST(RanksPlan, DataParallelExchangesEveryGradientOnce) {
  for (const std::int64_t hidden : {37, 512, 2048})
    for (int parts : {2, 3, 4}) {
      const Distribution ranks{.data_parts = parts, .data_index = parts - 1};
      const auto traffic = traffic_of(plan_of(fmt::format("mlp:hidden={}", hidden), 3000, ranks), ranks);
      ASSERT_EQ(traffic.size(), 1u);
      const std::int64_t parameters = hidden * 784 + hidden + 10 * hidden + 10;
      EXPECT_EQ(payload(traffic[0]), 4 * parameters);
      if (hidden == 512) {
        EXPECT_EQ(2 * payload(traffic[0]), 3'256'400);
      }
      if (hidden == 2048) {
        EXPECT_EQ(2 * payload(traffic[0]), 13'025'360);
      }
    }
}

TEST(RanksPlan, ModelParallelExchangesOneOutputPerPair) {
  for (int parts : {2, 3}) {
    const Distribution ranks{.model_parts = parts, .model_index = 1};
    const Plan plan = plan_of("mlp:hidden=512", 3000, ranks);
    const auto traffic = traffic_of(plan, ranks);
    ASSERT_EQ(traffic.size(), 1u);
    EXPECT_EQ(2 * payload(traffic[0]), 240'000);
    EXPECT_EQ(traffic[0].calls, 2);  // and one for the report
    const Share share = share_of(512, parts, 1);
    for (ValueId id : plan.graph.with_role(Role::parameter)) {
      const Value& value = plan.graph.value(id);
      if (value.name == "hidden.weight") {
        EXPECT_EQ(value.type.shape, (Shape{share.count, 784}));
      }
      if (value.name == "out.weight") {
        EXPECT_EQ(value.type.shape, (Shape{10, share.count}));
      }
    }
  }
}

TEST(RanksPlan, HybridExchangesBoth) {
  const Distribution ranks{.data_parts = 2, .model_parts = 2, .model_index = 1};
  const auto traffic = traffic_of(plan_of("mlp:hidden=512", 3000, ranks), ranks);
  ASSERT_EQ(traffic.size(), 2u);
  EXPECT_EQ(payload(traffic[0]), 4 * (256 * 784 + 256 + 10 * 256 + 10));
  EXPECT_EQ(payload(traffic[1]), 4 * 10 * 1500);
}

// An exchange starts before later gradients are computed.
TEST(RanksPlan, ExchangesBeginWithinTheBackwardPass) {
  const Plan plan = plan_of("alexnet:input=67", 8, {.data_parts = 2});
  int products = 0, later = 0;
  for (const Step& step : plan.steps) {
    products += step.problem.op == "matmul_reduce";
    later += products == 3 && step.problem.op.starts_with("conv2d_grad");
  }
  EXPECT_EQ(products, 3);
  EXPECT_GT(later, 4) << "the large products come before most of the convolutions' gradients";
}

TEST(RanksPlan, ShardedStateIsAShare) {
  const Distribution ranks{.data_parts = 3, .data_index = 1, .shard_optimizer = true};
  const Plan plan = plan_of("mlp:hidden=512", 300, ranks, "adam");
  std::int64_t state = 0;
  for (ValueId v : plan.graph.with_role(Role::state)) state += plan.graph.value(v).type.shape.numel();
  EXPECT_LT(state, 2 * (512 * 784 + 512 + 5120 + 10) / 3 + 2 * 600);
  int shares = 0;
  for (ValueId v : plan.graph.with_role(Role::state))
    shares += plan.graph.value(v).part && plan.graph.value(v).part->whole == Shape{512, 784};
  EXPECT_EQ(shares, 2) << "both moments of the large weights";
  int gathers = 0;
  for (const Step& step : plan.steps) gathers += step.problem.op == "all_gather";
  EXPECT_EQ(gathers, 2);
}

// By the link that bench allreduce saved: latency, plus 2 (p - 1) / p of the bytes over the bandwidth.
TEST(RanksPlan, ExchangeIsPredictedByTheLink) {
  const Distribution ranks{.data_parts = 4};
  const Plan plan = plan_of("mlp:hidden=512", 400, ranks);
  Machine machine = find_machine("h200");
  machine.kind = "cpu";
  const double without = predict(plan, machine).predicted_s;
  machine.rank_link = {.ranks = 4, .latency_s = 1e-3, .bytes_per_s = 1e9};
  const auto traffic = traffic_of(plan, ranks);
  int finishes = 0;
  for (const Step& step : plan.steps) finishes += step.problem.op == "all_reduce_finish";
  EXPECT_NEAR(predict(plan, machine).predicted_s - without,
              finishes * 1e-3 + 1.5 * double(traffic[0].bytes) / 1e9, 1e-9);
}

// No rank and no communicator exists: a plan is data.
TEST(RanksPlan, AThousandRanksNeedNotBeThere) {
  const Distribution ranks{.data_parts = 1024, .data_index = 1023};
  const Plan plan = plan_of("mlp:hidden=512", 4096, ranks);
  EXPECT_EQ(plan.binding.target.ranks.data_parts, 1024);
  EXPECT_EQ(plan.binding.batch, 4);
  const std::int64_t parameters = 512 * 784 + 512 + 10 * 512 + 10;
  EXPECT_EQ(payload(traffic_of(plan, ranks)[0]), 4 * parameters);
  Machine machine = find_machine("h200");
  machine.kind = "cpu";
  const double without = predict(plan, machine).predicted_s;
  machine.rank_link = {.ranks = 2, .latency_s = 1e-5, .bytes_per_s = 1e10};
  EXPECT_GT(predict(plan, machine).predicted_s, without + 4 * double(parameters) / 1e10);
}

TEST(RanksPlan, NothingToCutIsSaid) {
  const Distribution ranks{.model_parts = 2};
  EXPECT_THROW(plan_of("mlp:hidden=1", 8, ranks), Error);
}

}  // namespace
}  // namespace headroom
