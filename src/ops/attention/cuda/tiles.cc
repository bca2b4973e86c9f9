// Ordinary arithmetic on tiles of scores, with rows in registers.
#include "ops/attention/cuda/shared.h"
#include "ops/attention/cuda/sizes.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {
void attention_tiles(DType dtype, const AttentionShape& shape, const AttentionData& data,
                     cudaStream_t stream);
}  // namespace cuda
#endif

namespace {

Verdict accepts(const Problem& p, const Target& target) {
  const DType dtype = p.outputs[0].dtype;
  if (target.device.compute_capability < 80) return refuse("needs compute capability 8.0");
  const std::int64_t width = attention_problem(p).width,
                     limit = dtype == DType::f64 ? attention::kMaxTileDouble : attention::kMaxTileWidth;
  if (width > limit)
    return refuse(fmt::format("heads of {}; takes up to {} in {}", width, limit, name_of(dtype)));
  return accept();
}

Work work(const Problem& p, const Target& target) {
  return attention_gpu_work(p, target, "attention.tiles", ordinary_unit(p.outputs[0].dtype));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  return attention_launcher(p, cuda::attention_tiles);
}
#endif

}  // namespace

Kernel attention_cuda_tiles() {
  return {.name = "cuda:tiles",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = along_bytes};
}

}  // namespace headroom
