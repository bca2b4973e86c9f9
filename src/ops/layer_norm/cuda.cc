#include "ops/layer_norm/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/layer_norm/cuda_shape.h"
#include "ops/layer_norm/layer_norm.h"

namespace headroom {
namespace {

cuda::LayerNorm norm_of(const Problem& problem) {
  const LayerNormProblem p = layer_norm_problem(problem);
  return {.rows = p.rows,
          .columns = p.columns,
          .parts = cuda::layer_norm_parts(p.rows, p.columns),
          .epsilon = p.epsilon,
          .dtype = problem.outputs[0].dtype,
          .parameters = problem.inputs[problem.op == "layer_norm_grad" ? 2 : 1].dtype};
}

}  // namespace

Launcher prepare_layer_norm_cuda(const Problem& problem, const LaunchContext&) {
  return [p = norm_of(problem)](const LaunchArgs& a) {
    cuda::layer_norm(p, a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0], a.out<double>(1),
                     a.out<double>(2), cuda::stream_of(a));
  };
}

Launcher prepare_layer_norm_grad_cuda(const Problem& problem, const LaunchContext&) {
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

}  // namespace headroom
