// A warp or a block for each row; the gradients of scale and bias in a second pass, cut into parts.
#ifdef HEADROOM_HAS_CUDA
#include "ops/layer_norm/cuda/rows.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/layer_norm/layer_norm.h"
#include "ops/sectors.h"

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
// Rows do not begin with sectors. The first cache keeps what loads of a row have in common; stores of 32
// packs or columns go through to L2 one by one, and the second pass of a gradient reads 32 columns at a time.
Work work(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  const LayerNormProblem p = layer_norm_problem(problem);
  const auto element = static_cast<std::int64_t>(size_of(problem.inputs[0].dtype));
  const std::int64_t pack = 16 / element, chunk = 32 * (p.columns % pack == 0 ? pack : 1),
                     row = p.columns * element;
  const double all = static_cast<double>(problem.inputs[0].bytes()),
               load = all * touched_bytes(row, row) / double(row),
               store = all * chunked_bytes(p.columns, chunk, element, row) / double(row);
  const double loads = p.backward ? 2 : 1;
  work.main().l2_bytes = work.bytes() + loads * (load - all) + store - all;
  if (!p.backward) return work;
  work.add_pass(2 * all, 2).launches.back().l2_bytes = 2 * store;
  return work;
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
