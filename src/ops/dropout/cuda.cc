#include "ops/dropout/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/dropout/dropout.h"

namespace headroom {

Launcher prepare_dropout_cuda(const Problem& problem, const LaunchContext&) {
  const DropoutProblem p = dropout_problem(problem);
  const cuda::Dropout how{p.n, p.first, p.seed, p.key, p.threshold(), 1 / (1 - p.rate)};
  return [how, dtype = problem.outputs[0].dtype](const LaunchArgs& a) {
    cuda::dropout(dtype, how, a.in<double>(1), a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
