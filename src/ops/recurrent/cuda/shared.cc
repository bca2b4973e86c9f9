#include "ops/recurrent/cuda/shared.h"

#include <fmt/format.h>

#include "ops/cuda/shared_limit.h"

namespace headroom {
namespace {

cuda::PersistentPlan plan_for(const Target& target, const cuda::PersistentLayer& layer) {
  return cuda::persistent_plan(layer, target.device.multiprocessors,
                               cuda::shared_limit(target.device.compute_capability));
}

}  // namespace

cuda::PersistentPlan persistent_forward_plan(const RecurrentProblem& s, const Target& target) {
  return plan_for(target, {s.hidden, s.batch, s.dirs, s.gates, s.hidden});
}

cuda::PersistentPlan persistent_backward_plan(const RecurrentProblem& s, const Target& target) {
  return plan_for(target, {s.hidden, s.batch, s.dirs, 1, s.rows()});
}

Verdict accepts_persistent(const Problem& p, const Target& target, const cuda::PersistentPlan& plan) {
  const RecurrentProblem s = recurrent_problem(p);
  if (p.outputs[0].dtype != DType::f32) return refuse("takes fp32 only");
  if (s.resets_late()) return refuse("a gru that resets before the product needs a second one in each step");
  if (s.hidden % 4 != 0)
    return refuse(fmt::format("takes hidden sizes that are multiples of 4, not {}", s.hidden));
  if (target.device.compute_capability < 80) return refuse("needs compute capability 8.0 or later");
  if (!target.device.cublaslt) return refuse("cuBLASLt could not be loaded");
  if (plan.groups == 0)
    return refuse(fmt::format("the state's weights do not fit into the shared memory of {} multiprocessors",
                              target.device.multiprocessors));
  return accept();
}

void add_library_product(Work& work, ProductExtent e, std::int64_t count, bool tf32) {
  const auto m = static_cast<double>(e.m), n = static_cast<double>(e.n), k = static_cast<double>(e.k),
             all = static_cast<double>(count);
  KernelLaunch launch{.family = tf32 ? "cublaslt.tf32" : "cublaslt.fp32",
                      .unit = tensor_unit(DType::f32, tf32),
                      .flops = 2 * all * m * n * k,
                      .bytes = 4 * all * (m * k + k * n + m * n),
                      .extent = e};
  work.main().flops -= launch.flops;
  work.launches.push_back(launch);
}

}  // namespace headroom
