// The GPU kernels as plans and predictions see them.
#include "ops/recurrent/cuda_steps.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_gpu_steps_cc {
namespace {

// In fp32 or fp64: kernels widen 16-bit types.
std::size_t wide_bytes(const Problem& p, std::int64_t elements) {
  return static_cast<std::size_t>(elements) * size_of(master_of(p.outputs[0].dtype));
}

// h before and after a step; c of an lstm, z and r h of a gru.
std::size_t workspace(const Problem& p, const Target&) {
  const RecurrentProblem r = recurrent_problem(p);
  const std::int64_t parts = r.kind == CellKind::lstm ? 3 : r.kind == CellKind::gru ? 4 : 2;
  return wide_bytes(p, parts * r.dirs * r.cells());
}

// A launch for each step, two for a gru that resets before the product; both matrices are read at each.
Work work(const Problem& p, const Target& target) {
  const RecurrentProblem r = recurrent_problem(p);
  Work work = least_work(p, target);
  work.with("recurrent.steps", ordinary_unit(p.outputs[0].dtype));
  work.main().count = static_cast<int>(r.seq) * (r.resets_late() ? 2 : 1) + 1;
  return work.add_bytes(static_cast<double>(r.seq - 1) *
                        static_cast<double>(p.inputs[1].bytes() + p.inputs[2].bytes()));
}

// Gradients of the sums of all steps, a gru's candidates twice; those of h and c between two steps.
std::size_t grad_workspace(const Problem& p, const Target&) {
  const RecurrentProblem r = recurrent_problem(p);
  const std::int64_t gates = r.gates + (r.kind == CellKind::gru ? 1 : 0);
  return wide_bytes(p, r.dirs * r.cells() * (r.seq * gates + 2));
}

// A launch for each step, of which each reads R; then a product each for dW, dR and dX.
Work grad_work(const Problem& p, const Target& target) {
  const RecurrentProblem r = recurrent_problem(p);
  Work work = least_work(p, target);
  work.with("recurrent.grad_steps", ordinary_unit(p.outputs[0].dtype));
  work.main().count = static_cast<int>(r.seq) * (r.resets_late() ? 2 : 1) + 4;
  const double sums = static_cast<double>(r.dirs * r.seq * r.batch * r.rows());
  return work.add_bytes(static_cast<double>(r.seq - 1) * static_cast<double>(p.inputs[2].bytes()) +
                        5 * sums * static_cast<double>(size_of(master_of(p.outputs[0].dtype))));
}

}  // namespace
}  // namespace recurrent_gpu_steps_cc

Kernel recurrent_cuda_steps() {
  using namespace recurrent_gpu_steps_cc;
  return {.name = "cuda:steps",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare_recurrent_cuda),
          .workspace = workspace};
}

Kernel recurrent_grad_cuda_steps() {
  using namespace recurrent_gpu_steps_cc;
  return {.name = "cuda:steps",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = grad_work,
          .prepare = HEADROOM_CUDA(prepare_recurrent_grad_cuda),
          .workspace = grad_workspace};
}

}  // namespace headroom
