// "cuda:persistent": one product of all inputs, then all steps in one launch.
#include "ops/recurrent/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include <memory>

#include "base/error.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/launch.h"
#include "ops/recurrent/cuda/persistent.h"
#endif

namespace headroom {
namespace {

// In bytes of the workspace.
struct ForwardPlaces {
  std::size_t products, h, c, counters, library, end;
};
ForwardPlaces forward_places(const RecurrentProblem& s, const cuda::PersistentPlan& plan) {
  const std::int64_t states = 4 * s.dirs * s.cells(), products = s.dirs * s.seq * s.batch * s.rows();
  Sections sections;
  ForwardPlaces p{};
  p.products = sections.place(4 * products);
  p.h = sections.place(2 * states);
  p.c = sections.place(states);
  p.counters = sections.place(4 * s.dirs * plan.lanes);
  p.library = sections.place_library(products);
  p.end = sections.end();
  return p;
}

Verdict accepts(const Problem& p, const Target& target) {
  return accepts_persistent(p, target, persistent_forward_plan(recurrent_problem(p), target));
}

std::size_t workspace(const Problem& p, const Target& target) {
  const RecurrentProblem s = recurrent_problem(p);
  return forward_places(s, persistent_forward_plan(s, target)).end;
}

// The states' weights stay in shared memory; inputs' products are written once and read once.
Work work(const Problem& p, const Target& target) {
  const RecurrentProblem s = recurrent_problem(p);
  Work work = least_work(p, target);
  work.with("recurrent.persistent", Unit::fp32);
  work.main().count = 2;
  work.main().blocks = persistent_forward_plan(s, target).blocks(s.dirs);
  add_library_product(work, {s.seq * s.batch, s.rows(), s.input}, s.dirs, target.policy.tf32);
  return work.add_bytes(4 * static_cast<double>(s.dirs * s.seq * s.batch * s.rows()));
}

#ifdef HEADROOM_HAS_CUDA
cuda::GemmPlan::Problem input_product(const RecurrentProblem& s, bool tf32) {
  const std::int64_t items = s.seq * s.batch;
  return {.tf32 = tf32,
          .trans_b = true,
          .m = items,
          .n = s.rows(),
          .k = s.input,
          .lda = s.input,
          .ldb = s.input,
          .ldc = s.rows(),
          .batch = s.dirs,
          .stride_b = s.rows() * s.input,
          .stride_c = items * s.rows()};
}

Launcher prepare(const Problem& problem, const LaunchContext& context) {
  const RecurrentProblem s = recurrent_problem(problem);
  const cuda::PersistentPlan plan = persistent_forward_plan(s, context.target);
  const ForwardPlaces places = forward_places(s, plan);
  const auto product = std::make_shared<cuda::GemmPlan>(input_product(s, context.target.policy.tf32),
                                                        places.end - places.library);
  if (!product->good())
    fail("cuBLASLt has no algorithm for {} x {} x {}", s.seq * s.batch, s.rows(), s.input);
  return [=](const LaunchArgs& a) {
    auto* memory = static_cast<char*>(a.workspace);
    const auto floats = [&](std::size_t place) { return reinterpret_cast<float*>(memory + place); };
    const auto t = recurrent_tensors<float>(s, a);
    product->run(cuda::stream_of(a), t.x, t.w, floats(places.products), nullptr, memory + places.library);
    cuda::run_persistent({.s = s,
                          .plan = plan,
                          .t = t,
                          .products = floats(places.products),
                          .h = floats(places.h),
                          .c = floats(places.c),
                          .counters = reinterpret_cast<unsigned*>(memory + places.counters)},
                         cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel recurrent_cuda_persistent() {
  return {.name = "cuda:persistent",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
