#include "ops/squared_error/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/squared_error/squared_error.h"

namespace headroom {

Launcher prepare_squared_error_cuda(const Problem& problem, const LaunchContext&) {
  return [dtype = problem.outputs[0].dtype, p = error_problem(problem)](const LaunchArgs& a) {
    cuda::squared_error(dtype, p.n, p.count, p.blocks(), a.inputs[0], a.inputs[1],
                        static_cast<double*>(a.workspace), a.outputs[0], cuda::stream_of(a));
  };
}

Launcher prepare_squared_error_grad_cuda(const Problem& problem, const LaunchContext&) {
  return [dtype = problem.outputs[0].dtype, p = error_problem(problem)](const LaunchArgs& a) {
    cuda::squared_error_grad(dtype, p.n, p.count, a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0],
                             cuda::stream_of(a));
  };
}

Launcher prepare_one_hot_cuda(const Problem& p, const LaunchContext&) {
  return [dtype = p.outputs[0].dtype, rows = p.outputs[0].shape[0], classes = p.outputs[0].shape[1],
          wide = p.inputs[0].dtype == DType::i64](const LaunchArgs& a) {
    cuda::one_hot(dtype, rows, classes, a.inputs[0], wide, a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
