// "cuda:persistent": the gradients of all steps' sums in one launch, then matrix products of all steps for
// dR, dW and dX.
#include <algorithm>
#include <vector>

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
struct BackwardPlaces {
  std::size_t sums, candidates, before, dh, dc, counters, library, end;
};
BackwardPlaces backward_places(const RecurrentProblem& s, const cuda::PersistentPlan& plan) {
  const std::int64_t states = 4 * s.dirs * s.cells();
  Sections sections;
  BackwardPlaces p{};
  p.sums = sections.place(s.seq * s.gates * states);
  p.candidates = sections.place(s.kind == CellKind::gru ? s.seq * states : 0);
  p.before = sections.place(s.seq * states);
  p.dh = sections.place(states);
  p.dc = sections.place(states);
  p.counters = sections.place(4 * s.dirs * plan.lanes);
  p.library = sections.place_library(s.dirs * s.rows() * std::max(s.hidden, s.input));
  p.end = sections.end();
  return p;
}

// The gates whose gradients lie together as the inputs' products have them. A gru's last gate lies apart.
struct GateGroup {
  std::int64_t first, count;  // rows of W
  bool candidates;
};
std::vector<GateGroup> groups_of(const RecurrentProblem& s) {
  if (s.kind != CellKind::gru) return {{0, s.rows(), false}};
  return {{0, 2 * s.hidden, false}, {2 * s.hidden, s.hidden, true}};
}

Verdict accepts_grad(const Problem& p, const Target& target) {
  return accepts_persistent(p, target, persistent_backward_plan(recurrent_problem(p), target));
}

std::size_t grad_workspace(const Problem& p, const Target& target) {
  const RecurrentProblem s = recurrent_problem(p);
  return backward_places(s, persistent_backward_plan(s, target)).end;
}

// Sums are written once, and read by every step and by the sums of dB; the products count their own reading.
Work grad_work(const Problem& p, const Target& target) {
  const RecurrentProblem s = recurrent_problem(p);
  const std::int64_t items = s.seq * s.batch;
  Work work = least_work(p, target);
  work.with("recurrent.persistent_grad", Unit::fp32);
  work.main().blocks = persistent_backward_plan(s, target).blocks(s.dirs);
  add_library_product(work, {s.rows(), s.hidden, items}, s.dirs, target.policy.tf32);
  for (const GateGroup& g : groups_of(s)) {
    add_library_product(work, {g.count, s.input, items}, s.dirs, target.policy.tf32);
    if (s.dx) add_library_product(work, {items, s.input, g.count}, s.dirs, target.policy.tf32);
  }
  const double sums = 4 * static_cast<double>(s.dirs * items * s.rows());
  work.add_pass(2 * sums / static_cast<double>(s.gates));
  if (s.bias) work.add_pass(sums);
  return work.add_bytes(2 * sums);
}

#ifdef HEADROOM_HAS_CUDA
// One product: its factors and its result as places in the tensors at hand.
struct GradProduct {
  enum class Factor { x, w, sums, candidates, before };
  enum class Result { dr, dw, dx };
  cuda::GemmPlan::Problem problem;
  Factor a, b;
  Result c;
  std::int64_t a_at = 0, b_at = 0, c_at = 0;
};

void add_input_products(std::vector<GradProduct>& list, const RecurrentProblem& s, const GateGroup& g,
                        bool tf32) {
  const std::int64_t items = s.seq * s.batch, ld = g.candidates ? s.hidden : s.rows();
  const auto source = g.candidates ? GradProduct::Factor::candidates : GradProduct::Factor::sums;
  list.push_back({.problem = {.tf32 = tf32,
                              .trans_a = true,
                              .m = g.count,
                              .n = s.input,
                              .k = items,
                              .lda = ld,
                              .ldb = s.input,
                              .ldc = s.input,
                              .batch = s.dirs,
                              .stride_a = items * ld,
                              .stride_c = s.rows() * s.input},
                  .a = source,
                  .b = GradProduct::Factor::x,
                  .c = GradProduct::Result::dw,
                  .c_at = g.first * s.input});
  if (!s.dx) return;
  for (std::int64_t dir = 0; dir < s.dirs; ++dir)
    list.push_back({.problem = {.tf32 = tf32,
                                .m = items,
                                .n = s.input,
                                .k = g.count,
                                .lda = ld,
                                .ldb = s.input,
                                .ldc = s.input,
                                .beta = dir + g.first > 0 ? 1.0 : 0.0},
                    .a = source,
                    .b = GradProduct::Factor::w,
                    .c = GradProduct::Result::dx,
                    .a_at = dir * items * ld,
                    .b_at = (dir * s.rows() + g.first) * s.input});
}

std::vector<GradProduct> products_of(const RecurrentProblem& s, bool tf32) {
  const std::int64_t items = s.seq * s.batch;
  std::vector<GradProduct> list = {{.problem = {.tf32 = tf32,
                                                .trans_a = true,
                                                .m = s.rows(),
                                                .n = s.hidden,
                                                .k = items,
                                                .lda = s.rows(),
                                                .ldb = s.hidden,
                                                .ldc = s.hidden,
                                                .batch = s.dirs,
                                                .stride_a = items * s.rows(),
                                                .stride_b = items * s.hidden,
                                                .stride_c = s.rows() * s.hidden},
                                    .a = GradProduct::Factor::sums,
                                    .b = GradProduct::Factor::before,
                                    .c = GradProduct::Result::dr}};
  for (const GateGroup& g : groups_of(s)) add_input_products(list, s, g, tf32);
  return list;
}

const float* factor_of(GradProduct::Factor factor, const cuda::PersistentBackward& b) {
  using enum GradProduct::Factor;
  return factor == x            ? b.t.x
         : factor == w          ? b.t.w
         : factor == sums       ? b.sums
         : factor == candidates ? b.candidates
                                : b.before;
}

float* result_of(GradProduct::Result result, const cuda::PersistentBackward& b) {
  using enum GradProduct::Result;
  return result == dr ? b.t.dr : result == dw ? b.t.dw : b.t.dx;
}

cuda::PersistentBackward backward_at(const RecurrentProblem& s, const cuda::PersistentPlan& plan,
                                     const BackwardPlaces& places, const LaunchArgs& a) {
  auto* memory = static_cast<char*>(a.workspace);
  const auto floats = [&](std::size_t place) { return reinterpret_cast<float*>(memory + place); };
  return {.s = s,
          .plan = plan,
          .t = recurrent_grad_tensors<float>(s, a),
          .sums = floats(places.sums),
          .candidates = floats(places.candidates),
          .before = floats(places.before),
          .dh = floats(places.dh),
          .dc = floats(places.dc),
          .counters = reinterpret_cast<unsigned*>(memory + places.counters)};
}

Launcher prepare_grad(const Problem& problem, const LaunchContext& context) {
  const RecurrentProblem s = recurrent_problem(problem);
  const cuda::PersistentPlan plan = persistent_backward_plan(s, context.target);
  const BackwardPlaces places = backward_places(s, plan);
  const auto products = products_of(s, context.target.policy.tf32);
  const auto plans = std::make_shared<std::vector<cuda::GemmPlan>>();
  for (const GradProduct& p : products) {
    plans->emplace_back(p.problem, places.end - places.library);
    if (!plans->back().good())
      fail("cuBLASLt has no algorithm for {} x {} x {}", p.problem.m, p.problem.n, p.problem.k);
  }
  return [=](const LaunchArgs& a) {
    const cuda::PersistentBackward b = backward_at(s, plan, places, a);
    cuda::run_persistent(b, cuda::stream_of(a));
    for (std::size_t i = 0; i < products.size(); ++i) {
      const GradProduct& p = products[i];
      (*plans)[i].run(cuda::stream_of(a), factor_of(p.a, b) + p.a_at, factor_of(p.b, b) + p.b_at,
                      result_of(p.c, b) + p.c_at, nullptr, static_cast<char*>(a.workspace) + places.library);
    }
  };
}
#endif

}  // namespace

Kernel recurrent_grad_cuda_persistent() {
  return {.name = "cuda:persistent",
          .device = DeviceKind::cuda,
          .accepts = accepts_grad,
          .work = grad_work,
          .prepare = HEADROOM_CUDA(prepare_grad),
          .workspace = grad_workspace};
}

}  // namespace headroom
