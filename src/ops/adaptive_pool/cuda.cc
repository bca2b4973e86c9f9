#include "ops/adaptive_pool/adaptive_pool.h"
#include "ops/cuda/launch.h"
#include "ops/pool/cuda/windows.h"
#include "ops/reduce/cuda/stage_plan.h"
#include "ops/reduce/cuda/stages.h"
#include "ops/reduce/cuda/stretch.h"

namespace headroom {
namespace adaptive_pool_cuda_cc {
namespace {

cuda::PoolAxis axis_of(const AdaptiveAxis& axis) {
  return {.input = static_cast<int>(axis.input), .output = static_cast<int>(axis.output), .adaptive = true};
}

cuda::Pool pool_of(const AdaptiveProblem& p) {
  return {.planes = p.planes, .rows = axis_of(p.rows), .columns = axis_of(p.columns)};
}

// One window over all of a plane is a reduction of rows, and its mean's gradient is stretched over the plane.
Launcher global(const Problem& problem, const AdaptiveProblem& p) {
  const DType dtype = problem.outputs[0].dtype;
  const Shape planes{p.planes, 1}, all{p.planes, p.input_plane()};
  const bool max = problem.op.find("max") != std::string::npos;
  const double scale = max ? 1 : 1 / static_cast<double>(p.input_plane());
  if (problem.op.ends_with("_grad"))
    return [loop = cuda::loop_of(all, {planes}), dtype, scale](const LaunchArgs& a) {
      cuda::expand(dtype, loop, scale, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  return [stages = adaptive_global_stages(p), dtype, scale, max](const LaunchArgs& a) {
    cuda::reduce(max, stages, dtype, a.inputs[0], scale, dtype, a.outputs[0], a.workspace,
                 cuda::stream_of(a));
  };
}

// NHWC: windows over places, whatever their number.
Launcher rows(const Problem& problem, const Shape& image, const AdaptiveProblem& p, bool max, bool grad) {
  const cuda::PoolRows pool{pool_of(p), image[0], static_cast<int>(image[1])};
  return [pool, dtype = problem.outputs[0].dtype, max, grad](const LaunchArgs& a) {
    const cudaStream_t stream = cuda::stream_of(a);
    if (max && grad)
      cuda::max_pool_grad_rows(dtype, pool, a.inputs[0], a.inputs[1], a.workspace, a.outputs[0], stream);
    else if (grad)
      cuda::mean_pool_grad_rows(dtype, pool, a.inputs[0], a.outputs[0], stream);
    else if (max)
      cuda::max_pool_rows(dtype, pool, a.inputs[0], a.outputs[0], stream);
    else
      cuda::mean_pool_rows(dtype, pool, a.inputs[0], a.outputs[0], stream);
  };
}

}  // namespace
}  // namespace adaptive_pool_cuda_cc

Launcher prepare_adaptive_pool_cuda(const Problem& problem, const LaunchContext&) {
  using namespace adaptive_pool_cuda_cc;
  const AdaptiveProblem p = adaptive_problem(problem);
  const bool max = problem.op.find("max") != std::string::npos, grad = problem.op.ends_with("_grad");
  const TensorType& image = grad ? problem.outputs[0] : problem.inputs[0];
  if (image.layout == Layout::nhwc) return rows(problem, image.shape, p, max, grad);
  if (p.global() && !(max && grad)) return global(problem, p);
  return [pool = pool_of(p), dtype = problem.outputs[0].dtype, max, grad](const LaunchArgs& a) {
    const cudaStream_t stream = cuda::stream_of(a);
    if (max && grad)
      cuda::max_pool_grad(dtype, pool, a.inputs[0], a.inputs[1], static_cast<int*>(a.workspace), a.outputs[0],
                          stream);
    else if (grad)
      cuda::mean_pool_grad(dtype, pool, a.inputs[0], a.outputs[0], stream);
    else if (max)
      cuda::max_pool(dtype, pool, a.inputs[0], a.outputs[0], stream);
    else
      cuda::mean_pool(dtype, pool, a.inputs[0], a.outputs[0], stream);
  };
}

}  // namespace headroom
