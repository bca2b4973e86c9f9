#include "ops/recurrent/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/recurrent/cuda_steps.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {

Launcher prepare_recurrent_cuda(const Problem& problem, const LaunchContext&) {
  return [p = recurrent_problem(problem), dtype = problem.outputs[0].dtype](const LaunchArgs& a) {
    cuda::recurrent(dtype, p, recurrent_tensors<void>(p, a), a.workspace, cuda::stream_of(a));
  };
}

Launcher prepare_recurrent_grad_cuda(const Problem& problem, const LaunchContext&) {
  return [p = recurrent_problem(problem), dtype = problem.outputs[0].dtype](const LaunchArgs& a) {
    cuda::recurrent_grad(dtype, p, recurrent_grad_tensors<void>(p, a), a.workspace, cuda::stream_of(a));
  };
}

}  // namespace headroom
