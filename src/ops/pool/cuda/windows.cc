// Pairs in one pass, any other window by gathering; NHWC by rows of channels.
#ifdef HEADROOM_HAS_CUDA
#include "ops/pool/cuda/windows.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/pool/cuda/place_bytes.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace {

// 2x2 windows that step by 2, with nothing left over.
bool covers_by_pairs(const PoolProblem& p) {
  const Window2d& w = p.window;
  const Extent2d two{2, 2};
  return w.kernel == two && w.stride == two && w.dilation == Extent2d{1, 1} && w.pad == Extent2d{0, 0} &&
         w.input == Extent2d{2 * w.output.h, 2 * w.output.w};
}

// One pixel lies alike in either layout, so any of the tensors may be the one that tells.
bool is_nhwc(const Problem& problem) {
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list)
      if (type.layout == Layout::nhwc) return true;
  return false;
}

Verdict accepts(const Problem& problem, const Target& target) {
  const PoolProblem p = pool_problem(problem);
  const Window2d& w = p.window;
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 28;  // sums of a few of them fit an int
  for (const Extent2d& e : {w.input, w.output, w.kernel, w.stride, w.dilation, w.pad, w.pad_end})
    if (e.h > kMaxExtent || e.w > kMaxExtent) return refuse("places in a plane are counted in 32 bits");
  if (p.input_plane() >= INT32_MAX || (w.kernel.h - 1) * w.dilation.h > kMaxExtent ||
      (w.kernel.w - 1) * w.dilation.w > kMaxExtent)
    return refuse("places in a plane are counted in 32 bits");
  return accepts_cuda_floats(problem, target);
}

// Where each window has its maximum, between the two passes of max_pool_grad.
std::size_t workspace(const Problem& problem, const Target&) {
  if (problem.op != "max_pool_grad") return 0;
  const PoolProblem p = pool_problem(problem);
  if (is_nhwc(problem))
    return static_cast<std::size_t>(p.planes * p.output_plane()) *
           static_cast<std::size_t>(cuda::place_bytes(false, p.window.kernel.h * p.window.kernel.w));
  if (covers_by_pairs(p)) return 0;
  return static_cast<std::size_t>(p.planes * p.output_plane()) * sizeof(std::int32_t);
}

Work work(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  const auto places = static_cast<double>(workspace(problem, target));
  if (places > 0) work.add_pass(2 * places);
  return work;
}

#ifdef HEADROOM_HAS_CUDA
cuda::PoolAxis axis_of(std::int64_t input, std::int64_t output, std::int64_t kernel, std::int64_t stride,
                       std::int64_t dilation, std::int64_t pad, std::int64_t pad_end) {
  const auto small = [](std::int64_t x) { return static_cast<int>(x); };  // accepts saw to it
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

Launcher prepare(const Problem& problem, const LaunchContext&) {
  if (is_nhwc(problem)) return prepare_rows(problem);
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
#endif

}  // namespace

Kernel pool_cuda_windows() {
  return {.name = "cuda:windows",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .layouts = Layouts::alike};
}

}  // namespace headroom
