#include "ops/pool/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace {

cuda::PoolAxis axis_of(std::int64_t input, std::int64_t output, std::int64_t kernel, std::int64_t stride,
                       std::int64_t dilation, std::int64_t pad, std::int64_t pad_end) {
  const auto small = [](std::int64_t x) { return static_cast<int>(x); };  // accepts_pool_cuda saw to it
  return {.input = small(input),
          .output = small(output),
          .kernel = small(kernel),
          .stride = small(stride),
          .dilation = small(dilation),
          .pad = small(pad),
          .pad_end = small(pad_end)};
}

cuda::Pool pool_of(const Problem& problem) {
  const PoolProblem p = pool_problem(problem);
  const Window2d& w = p.window;
  return {
      .planes = p.planes,
      .rows = axis_of(w.input.h, w.output.h, w.kernel.h, w.stride.h, w.dilation.h, w.pad.h, w.pad_end.h),
      .columns = axis_of(w.input.w, w.output.w, w.kernel.w, w.stride.w, w.dilation.w, w.pad.w, w.pad_end.w),
      .count_include_pad = p.count_include_pad,
      .pairs = covers_by_pairs(p),
      .slope = static_cast<int>(p.slope)};
}

// NHWC: N images of C channels.
const TensorType& image_of(const Problem& p) { return p.op.ends_with("_grad") ? p.outputs[0] : p.inputs[0]; }

Launcher prepare_rows(const Problem& problem) {
  const Shape& image = image_of(problem).shape;
  const cuda::PoolRows pool{pool_of(problem), image[0], static_cast<int>(image[1])};
  const DType dtype = problem.outputs[0].dtype;
  if (problem.op == "max_pool")
    return [=](const LaunchArgs& a) {
      cuda::max_pool_rows(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  if (problem.op == "avg_pool")
    return [=](const LaunchArgs& a) {
      cuda::mean_pool_rows(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  if (problem.op == "max_pool_grad")
    return [=](const LaunchArgs& a) {
      cuda::max_pool_grad_rows(dtype, pool, a.inputs[0], a.inputs[1], a.workspace, a.outputs[0],
                               cuda::stream_of(a));
    };
  return [=](const LaunchArgs& a) {
    cuda::mean_pool_grad_rows(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace

Launcher prepare_pool_cuda(const Problem& problem, const Capabilities&) {
  if (pool_is_nhwc(problem)) return prepare_rows(problem);
  const cuda::Pool pool = pool_of(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (problem.op == "max_pool")
    return [=](const LaunchArgs& a) {
      cuda::max_pool(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  if (problem.op == "avg_pool")
    return [=](const LaunchArgs& a) {
      cuda::mean_pool(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  if (problem.op == "max_pool_grad")
    return [=](const LaunchArgs& a) {
      cuda::max_pool_grad(dtype, pool, a.inputs[0], a.inputs[1], static_cast<int*>(a.workspace), a.outputs[0],
                          cuda::stream_of(a));
    };
  return [=](const LaunchArgs& a) {
    cuda::mean_pool_grad(dtype, pool, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
