// A thread makes one block of random numbers, for the four elements they belong to.
#ifdef HEADROOM_HAS_CUDA
#include "ops/dropout/cuda/blocks.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/dropout/dropout.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace {

Launcher prepare(const Problem& problem, const LaunchContext&) {
  const DropoutProblem p = dropout_problem(problem);
  const cuda::Dropout how{p.n, p.first, p.seed, p.key, p.threshold(), 1 / (1 - p.rate)};
  return [how, dtype = problem.outputs[0].dtype](const LaunchArgs& a) {
    cuda::dropout(dtype, how, a.in<double>(1), a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace
#endif

Kernel dropout_cuda_blocks() {
  return {.name = "cuda:blocks",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
