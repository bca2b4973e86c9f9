#include "ops/pool3d/pool3d.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#include "ops/pool3d/cuda/windows.h"
#endif

namespace headroom {
namespace pool3d_cuda_windows_cc {
namespace {

// Where each window has its maximum, between the two passes of max_pool3d_grad.
std::size_t workspace(const Problem& problem, const Target&) {
  if (problem.op != "max_pool3d_grad") return 0;
  return static_cast<std::size_t>(problem.inputs[0].shape.numel()) * sizeof(std::int64_t);
}

Work work(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  const auto places = static_cast<double>(workspace(problem, target));
  if (places > 0) work.add_pass(2 * places);
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& problem, const LaunchContext&) {
  const Pool3d pool = parse_pool3d(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (problem.op == "max_pool3d")
    return [=](const LaunchArgs& a) {
      cuda::max_pool3d(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  if (problem.op == "avg_pool3d")
    return [=](const LaunchArgs& a) {
      cuda::mean_pool3d(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  if (problem.op == "max_pool3d_grad")
    return [=](const LaunchArgs& a) {
      cuda::max_pool3d_grad(dtype, pool, a.inputs[0], a.inputs[1], static_cast<std::int64_t*>(a.workspace),
                            a.outputs[0], cuda::stream_of(a));
    };
  return [=](const LaunchArgs& a) {
    cuda::mean_pool3d_grad(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace
}  // namespace pool3d_cuda_windows_cc

Kernel pool3d_cuda_windows() {
  using namespace pool3d_cuda_windows_cc;
  return {.name = "cuda:windows",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
