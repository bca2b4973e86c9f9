#include "ops/local_contrast_norm/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/local_contrast_norm/local_contrast_norm.h"

namespace headroom {

Launcher prepare_contrast_cuda(const Problem& problem, const LaunchContext&) {
  const ContrastProblem p = contrast_problem(problem);
  const cuda::Contrast plain{p.images, p.channels, p.height, p.width, p.reach};
  const DType dtype = problem.outputs[0].dtype;
  if (problem.inputs.size() == 2)
    return [plain, dtype](const LaunchArgs& a) {
      cuda::local_contrast_norm_grad(dtype, plain, a.inputs[0], a.inputs[1], a.workspace, a.outputs[0],
                                     cuda::stream_of(a));
    };
  return [plain, dtype](const LaunchArgs& a) {
    cuda::local_contrast_norm(dtype, plain, a.inputs[0], a.workspace, a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
