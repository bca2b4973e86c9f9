// Tensor cores: a block of four warps owns 64 rows and walks over the others in tiles. fp32 is rounded to
// tf32.
#include "ops/attention/cuda/shared.h"
#include "ops/attention/cuda/sizes.h"
#include "ops/cuda/shared_limit.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {
void attention_mma(DType dtype, const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
}  // namespace cuda
#endif

namespace {

Verdict accepts(const Problem& p, const Target& target) {
  const DType dtype = p.outputs[0].dtype;
  if (target.device.compute_capability < 80) return refuse("needs compute capability 8.0");
  if (dtype == DType::f64) return refuse("it does not use tensor cores for fp64");
  if (dtype == DType::f32 && !target.policy.tf32) return refuse("rounds fp32 to tf32, which was not allowed");
  const AttentionProblem a = attention_problem(p);
  if (a.width > attention::kMaxMmaWidth)
    return refuse(fmt::format("heads of {}; takes up to {}", a.width, attention::kMaxMmaWidth));
  const int bytes = attention::mma_sizes(int(a.width), int(size_of(dtype)), is_backward(p)).bytes,
            there = cuda::shared_limit(target.device.compute_capability);
  if (bytes > there) return refuse(fmt::format("takes {} bytes of shared memory, not {}", bytes, there));
  return accept();
}

// Powers of 2 need no FLOPs. Forward scales all results for every tile; backward makes each score twice.
double executed_of(const Problem& p) {
  const AttentionProblem a = attention_problem(p);
  const attention::MmaSizes sizes =
      attention::mma_sizes(int(a.width), int(size_of(p.outputs[0].dtype)), is_backward(p));
  const double depth = sizes.depth;
  const auto scores = [&](bool owns_keys) {
    return computed_scores(a, attention::MmaSizes::kOwn, sizes.loop, owns_keys);
  };
  if (!is_backward(p)) return scores(false) * (4 * depth + 3 + depth / sizes.loop);
  return along_flops(a) + scores(false) * (6 * depth + 4) + scores(true) * (8 * depth + 4);
}

Work work(const Problem& p, const Target& target) {
  Work work =
      attention_gpu_work(p, target, "attention.mma", tensor_unit(p.outputs[0].dtype, target.policy.tf32));
  work.main().executed = executed_of(p);
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  return attention_launcher(p, cuda::attention_mma);
}
#endif

}  // namespace

Kernel attention_cuda_mma() {
  return {.name = "cuda:mma",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = along_bytes};
}

}  // namespace headroom
