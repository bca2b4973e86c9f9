// A warp or a block for each row; the gradients of scale and bias in a second pass, cut into parts.
#ifdef HEADROOM_HAS_CUDA
#include "ops/layer_norm/cuda/rows.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/layer_norm/layer_norm.h"

namespace headroom {
namespace {

// Into how many parts the rows are cut for the gradients of scale and bias: from the shape alone.
std::int64_t parts_of(const LayerNormProblem& p) {
  constexpr std::int64_t kBlocks = 1024, kColumns = 128, kMax = 128, kLeastRows = 32;
  const std::int64_t across = (p.columns + kColumns - 1) / kColumns;
  std::int64_t parts = (kBlocks + across - 1) / across;
  if (parts > (p.rows + kLeastRows - 1) / kLeastRows) parts = (p.rows + kLeastRows - 1) / kLeastRows;
  return parts > kMax ? kMax : parts;
}

std::size_t workspace(const Problem& problem, const Target&) {
  const LayerNormProblem p = layer_norm_problem(problem);
  if (!p.backward) return 0;
  const std::size_t bytes = problem.outputs[0].dtype == DType::f64 ? 8 : 4;
  return static_cast<std::size_t>(2 * parts_of(p) * p.columns) * bytes;
}

// Backward, the sums over rows read dy and x again.
Work work(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  if (!layer_norm_problem(problem).backward) return work;
  return work.add_pass(static_cast<double>(2 * problem.inputs[0].bytes()), 2);
}

#ifdef HEADROOM_HAS_CUDA
cuda::LayerNorm norm_of(const Problem& problem) {
  const LayerNormProblem p = layer_norm_problem(problem);
  return {.rows = p.rows,
          .columns = p.columns,
          .parts = parts_of(p),
          .epsilon = p.epsilon,
          .dtype = problem.outputs[0].dtype,
          .parameters = problem.inputs[p.backward ? 2 : 1].dtype};
}

Launcher prepare_forward(const Problem& problem) {
  return [p = norm_of(problem)](const LaunchArgs& a) {
    cuda::layer_norm(p, a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0], a.out<double>(1),
                     a.out<double>(2), cuda::stream_of(a));
  };
}

Launcher prepare_backward(const Problem& problem) {
  return [p = norm_of(problem)](const LaunchArgs& a) {
    cuda::layer_norm_grad(p,
                          {.dy = a.inputs[0],
                           .x = a.inputs[1],
                           .scale = a.inputs[2],
                           .mean = a.in<double>(3),
                           .inv_std = a.in<double>(4),
                           .dx = a.outputs[0],
                           .dscale = a.outputs[1],
                           .dbias = a.outputs[2],
                           .workspace = a.workspace},
                          cuda::stream_of(a));
  };
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return layer_norm_problem(problem).backward ? prepare_backward(problem) : prepare_forward(problem);
}
#endif

}  // namespace

Kernel layer_norm_cuda_rows() {
  return {.name = "cuda:rows",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
