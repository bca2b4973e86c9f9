#include "ops/reduce/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/stages.h"

namespace headroom {

Launcher prepare_reduce_cuda(const Problem& p, const LaunchContext&) {
  const ReduceProblem r = reduce_problem(p);
  const double scale = p.op == "reduce_mean" ? 1 / static_cast<double>(r.count) : 1;
  return [stages = stages_of(r), dtype = p.outputs[0].dtype, scale,
          max = p.op == "reduce_max"](const LaunchArgs& a) {
    cuda::reduce(max, stages, dtype, a.inputs[0], scale, dtype, a.outputs[0], a.workspace,
                 cuda::stream_of(a));
  };
}

// The ties are marked in dx and counted; each then gets its share.
Launcher prepare_reduce_max_grad_cuda(const Problem& p, const LaunchContext&) {
  const ReduceProblem r = reduce_problem(p);
  const DType dtype = p.outputs[0].dtype, wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  const std::size_t ties = static_cast<std::size_t>(r.kept.numel()) * size_of(wide);
  return [stages = stages_of(r), loop = cuda::loop_of(r.input, {r.input, r.kept}), dtype, wide,
          ties](const LaunchArgs& a) {
    const cudaStream_t stream = cuda::stream_of(a);
    void* between = static_cast<unsigned char*>(a.workspace) + ties;
    cuda::mark_equal(dtype, loop, a.inputs[1], a.inputs[2], a.outputs[0], stream);
    cuda::reduce(false, stages, dtype, a.outputs[0], 1, wide, a.workspace, between, stream);
    cuda::share_marked(dtype, loop, a.inputs[0], a.workspace, a.outputs[0], stream);
  };
}

Launcher prepare_expand_cuda(const Problem& p, const LaunchContext&) {
  if (!is_float(p.outputs[0].dtype))
    return [loop = cuda::loop_of(p.outputs[0].shape, {p.inputs[0].shape}),
            bytes = static_cast<int>(size_of(p.outputs[0].dtype))](const LaunchArgs& a) {
      cuda::stretch_bytes(bytes, loop, a.inputs[0], a.outputs[0], cuda::stream_of(a));
    };
  return [loop = cuda::loop_of(p.outputs[0].shape, {p.inputs[0].shape}), dtype = p.outputs[0].dtype,
          scale = p.attrs.real("scale", 1)](const LaunchArgs& a) {
    cuda::expand(dtype, loop, scale, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
