// One launch after another, each of which joins parts of one axis; the last leaves one element.
#ifdef HEADROOM_HAS_CUDA
#include "ops/reduce/cuda/stages.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/reduce/cuda/stage_plan.h"

namespace headroom {
namespace {

bool is_max_grad(const Problem& p) { return p.op == "reduce_max_grad"; }

// Of what lies between two stages: fp64, fp32, or the integers themselves.
std::size_t wide_bytes(const Problem& p) {
  return p.outputs[0].dtype == DType::f64 || p.outputs[0].dtype == DType::i64 ? 8 : 4;
}

std::size_t between_bytes(const Problem& p) {
  return static_cast<std::size_t>(between_stages(stages_of(reduce_problem(p)))) * wide_bytes(p);
}

std::size_t workspace(const Problem& p, const Target&) {
  const std::int64_t ties = is_max_grad(p) ? p.inputs[0].shape.numel() : 0;
  return static_cast<std::size_t>(ties) * wide_bytes(p) + between_bytes(p);
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.main().count = static_cast<int>(stages_of(reduce_problem(p)).size());
  work.add_bytes(2 * static_cast<double>(between_bytes(p)));
  // Marks are written, counted, and turned into shares.
  if (is_max_grad(p)) work.add_pass(3 * static_cast<double>(p.outputs[0].bytes()), 2);
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_reduction(const Problem& p) {
  const ReduceProblem r = reduce_problem(p);
  const double scale = p.op == "reduce_mean" ? 1 / static_cast<double>(r.count) : 1;
  return [stages = stages_of(r), dtype = p.outputs[0].dtype, scale,
          max = p.op == "reduce_max"](const LaunchArgs& a) {
    cuda::reduce(max, stages, dtype, a.inputs[0], scale, dtype, a.outputs[0], a.workspace,
                 cuda::stream_of(a));
  };
}

// The ties are marked in dx and counted; each then gets its share.
Launcher prepare_max_grad(const Problem& p) {
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

Launcher prepare(const Problem& p, const LaunchContext&) {
  return is_max_grad(p) ? prepare_max_grad(p) : prepare_reduction(p);
}
#endif

}  // namespace

Kernel reduce_cuda_stages() {
  return {.name = "cuda:stages",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
