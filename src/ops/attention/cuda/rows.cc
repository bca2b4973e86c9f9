// A block for each row of scores, with whole rows in shared memory: takes every type.
#include "ops/attention/cuda/shared.h"
#include "ops/attention/cuda/sizes.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {
void attention_rows(DType dtype, const AttentionShape& shape, const AttentionData& data, cudaStream_t stream);
}  // namespace cuda
#endif

namespace {

Verdict accepts(const Problem& p, const Target& target) {
  if (const std::int64_t width = attention_problem(p).width; width > attention::kMaxRowWidth)
    return refuse(fmt::format("heads of {}; takes up to {}", width, attention::kMaxRowWidth));
  return accepts_cuda_floats(p, target);
}

Work work(const Problem& p, const Target& target) {
  return attention_gpu_work(p, target, "attention.rows", ordinary_unit(p.outputs[0].dtype));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  return attention_launcher(p, cuda::attention_rows);
}
#endif

}  // namespace

Kernel attention_cuda_rows() {
  return {.name = "cuda:rows",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = along_bytes};
}

}  // namespace headroom
