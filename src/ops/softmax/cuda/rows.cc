// Rows in the registers of neighbouring threads, long ones by a block each; along another axis, lines side by
// side. Takes every axis and type.
#ifdef HEADROOM_HAS_CUDA
#include "ops/softmax/cuda/rows.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/softmax/softmax.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  const SoftmaxProblem p = softmax_problem(problem);
  const cuda::SoftmaxShape shape{p.outer, p.length, p.inner, p.log};
  return [shape, dtype = problem.outputs[0].dtype, backward = p.backward](const LaunchArgs& a) {
    if (backward)
      cuda::softmax_grad(dtype, shape, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    else
      cuda::softmax(dtype, shape, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace
#endif

Kernel softmax_cuda_rows() {
  return {.name = "cuda:rows",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
