// How layers are shared out among blocks, and which ones are refused.
#include <gtest/gtest.h>

#include "ops/cuda/shared_limit.h"
#include "ops/recurrent/cuda/shared.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace recurrent_cuda_persistent_test {

Target gpu(int capability, int multiprocessors) {
  Capabilities device;
  device.kind = DeviceKind::cuda;
  device.compute_capability = capability;
  device.multiprocessors = multiprocessors;
  return device;
}

RecurrentProblem layer(std::int64_t hidden, std::int64_t batch, std::int64_t dirs = 1) {
  return {.seq = 9, .batch = batch, .input = 3, .hidden = hidden, .dirs = dirs};
}

// Every unit and every item has its block, all blocks run at once, and each has room for its rows.
TEST(Persistent, BlocksCoverTheLayerAndFitTheDevice) {
  for (const auto& [capability, multiprocessors] : {std::pair{90, 132}, {80, 108}, {86, 84}})
    for (const std::int64_t hidden : {4, 20, 128, 512, 1024})
      for (const std::int64_t batch : {1, 16, 17, 300})
        for (const std::int64_t dirs : {1, 2}) {
          const Target target = gpu(capability, multiprocessors);
          const RecurrentProblem s = layer(hidden, batch, dirs);
          for (const auto& p : {persistent_forward_plan(s, target), persistent_backward_plan(s, target)}) {
            if (p.groups == 0) continue;
            EXPECT_GE(p.units * p.unit_blocks, hidden);
            EXPECT_GE(p.tiles * cuda::PersistentPlan::kItems, batch);
            EXPECT_GE(p.lanes, 1);
            EXPECT_LE(p.lanes, p.tiles);
            EXPECT_LE(p.blocks(dirs), multiprocessors);
            EXPECT_LE(p.shared_bytes(), cuda::shared_limit(capability));
            EXPECT_EQ(p.slices() * p.groups * 4, cuda::PersistentPlan::kThreads);
          }
        }
}

TEST(Persistent, OneLayerOnAnH200) {
  const auto forward = persistent_forward_plan(layer(512, 64), gpu(90, 132)),
             backward = persistent_backward_plan(layer(512, 64), gpu(90, 132));
  EXPECT_EQ(forward.units, 16);
  EXPECT_EQ(forward.blocks(1), 128);
  EXPECT_EQ(backward.units, 16);
  EXPECT_EQ(backward.blocks(1), 128);
  EXPECT_GT(persistent_forward_plan(layer(1024, 64), gpu(90, 132)).groups, 0);
  EXPECT_EQ(persistent_forward_plan(layer(2048, 64), gpu(90, 132)).groups, 0);
  EXPECT_EQ(persistent_forward_plan(layer(1024, 64, 2), gpu(90, 132)).groups, 0);
}

std::string refusal(const char* op, std::int64_t hidden, const Attrs& more, DType dtype,
                    const Target& target) {
  const std::int64_t gates = std::string_view(op) == "lstm" ? 4 : 3;
  Case c{.inputs = {{2, 3, 5}, {1, gates * hidden, 5}, {1, gates * hidden, hidden}}, .attrs = more};
  c.attrs.set("hidden_size", hidden);
  c.attrs.set("direction", std::string("forward"));
  return accepts(recurrent_cuda_persistent(), problem_of(operator_of(op), c, dtype), target).reason;
}

TEST(Persistent, RefusesWithAReason) {
  const Target h200 = gpu(90, 132);
  EXPECT_EQ(refusal("lstm", 8, {}, DType::f32, h200), "");
  EXPECT_EQ(refusal("lstm", 8, {}, DType::bf16, h200), "takes fp32 only");
  EXPECT_EQ(refusal("lstm", 6, {}, DType::f32, h200), "takes hidden sizes that are multiples of 4, not 6");
  EXPECT_NE(refusal("lstm", 8, {}, DType::f32, gpu(75, 40)), "");
  EXPECT_NE(refusal("lstm", 2048, {}, DType::f32, h200).find("132 multiprocessors"), std::string::npos);
  EXPECT_NE(refusal("gru", 8, {}, DType::f32, h200).find("second one"), std::string::npos);
  EXPECT_EQ(refusal("gru", 8, {{"linear_before_reset", std::int64_t{1}}}, DType::f32, h200), "");
}

// The products beside the main launch take their FLOPs from it: together they are what the operator asks for.
TEST(Persistent, WorkAddsUpToTheOperators) {
  const Target h200 = gpu(90, 132);
  for (const char* op : {"lstm", "gru", "rnn", "lstm_grad", "gru_grad", "rnn_grad"})
    for (const Case& c : operator_of(op).cases) {
      const Problem p = problem_of(operator_of(op), c, DType::f32);
      const Kernel kernel =
          p.op.ends_with("_grad") ? recurrent_grad_cuda_persistent() : recurrent_cuda_persistent();
      if (!accepts(kernel, p, h200).ok) continue;
      Work work = kernel.work(p, h200);
      EXPECT_NEAR(work.flops(), least_work(p, h200).flops(), 1e-9 * work.flops()) << p.str();
      for (const KernelLaunch& launch : work.launches) EXPECT_GE(launch.flops, 0) << p.str();
      EXPECT_GT(work.main().flops, 0) << p.str();
    }
}

}  // namespace recurrent_cuda_persistent_test
}  // namespace headroom::testing
