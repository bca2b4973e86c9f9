#include "ops/lrn/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/lrn/lrn.h"

namespace headroom {
namespace lrn_cuda_cc {
namespace {

cuda::Lrn plain(const Problem& problem) {
  const LrnProblem p = lrn_problem(problem);
  return {.rows = p.rows,
          .channels = p.channels,
          .plane = p.plane,
          .before = p.before,
          .after = p.after,
          .factor = p.factor,
          .beta = p.beta,
          .bias = p.bias};
}

}  // namespace
}  // namespace lrn_cuda_cc

Launcher prepare_lrn_cuda(const Problem& p, const LaunchContext&) {
  using namespace lrn_cuda_cc;
  return [lrn = plain(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::lrn(dtype, lrn, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

Launcher prepare_lrn_grad_cuda(const Problem& p, const LaunchContext&) {
  using namespace lrn_cuda_cc;
  return [lrn = plain(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::lrn_grad(dtype, lrn, a.inputs[0], a.inputs[1], a.workspace, a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
