#include "ops/cross_entropy/cuda.h"

#include "ops/cross_entropy/cross_entropy.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace cross_entropy_cuda_cc {
namespace {

cuda::LossShape shape_of(const Problem& problem, DType labels) {
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  return {p.rows, p.classes, p.batch, labels == DType::i64};
}

}  // namespace
}  // namespace cross_entropy_cuda_cc

Launcher prepare_cross_entropy_cuda(const Problem& p, const LaunchContext&) {
  using namespace cross_entropy_cuda_cc;
  return [dtype = p.inputs[0].dtype, shape = shape_of(p, p.inputs[1].dtype),
          counts = counts_correct(p.attrs)](const LaunchArgs& a) {
    cuda::cross_entropy(dtype, shape, a.inputs[0], a.inputs[1], static_cast<double*>(a.workspace),
                        a.outputs[0], a.outputs[1], counts ? a.outputs[2] : nullptr, cuda::stream_of(a));
  };
}

Launcher prepare_cross_entropy_grad_cuda(const Problem& p, const LaunchContext&) {
  using namespace cross_entropy_cuda_cc;
  return [dtype = p.inputs[1].dtype, shape = shape_of(p, p.inputs[2].dtype)](const LaunchArgs& a) {
    cuda::cross_entropy_grad(dtype, shape, a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0],
                             cuda::stream_of(a));
  };
}

}  // namespace headroom
