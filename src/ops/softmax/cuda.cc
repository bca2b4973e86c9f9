#include "ops/softmax/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/softmax/softmax.h"

namespace headroom {

Launcher prepare_softmax_cuda(const Problem& problem, const LaunchContext&) {
  const SoftmaxProblem p = softmax_problem(problem);
  const cuda::SoftmaxShape shape{p.outer, p.length, p.inner, p.log};
  return [shape, dtype = problem.outputs[0].dtype, backward = p.backward](const LaunchArgs& a) {
    if (backward)
      cuda::softmax_grad(dtype, shape, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    else
      cuda::softmax(dtype, shape, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
