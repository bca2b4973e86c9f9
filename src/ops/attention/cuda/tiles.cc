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

// As tiles.cu is compiled: columns of a row, and rows of a tile.
struct Cut {
  std::int64_t depth, forward, backward;
};
Cut cut_for(DType dtype, std::int64_t width) {
  if (dtype == DType::f64) return width <= 64 ? Cut{64, 32, 32} : Cut{128, 32, 16};
  if (dtype == DType::f32 && width <= 64) return {64, 64, 64};
  if (dtype == DType::f32 && width <= 128) return {128, 64, 32};
  return {256, 32, 16};
}

// Scores are summed in runs of 16 columns and multiplied by all columns of a tile. 16 threads share a row of
// scores: each of them scales its results and adds up the sums.
double executed_of(const Problem& p) {
  const AttentionProblem a = attention_problem(p);
  const DType dtype = p.outputs[0].dtype;
  const Cut cut = cut_for(dtype, a.width);
  const double runs = double((a.width + 15) / 16), depth = double(cut.depth), seen = seen_scores(a);
  const double score = runs * (2 * 16 + 1), exponential = exp_flops(dtype);
  if (!is_backward(p)) {
    const double scores = computed_scores(a, cut.forward, cut.forward, false),
                 of_threads = 16 * scores / double(cut.forward);
    return scores * (score + 2 * depth + exponential + 2 + depth / double(cut.forward)) +
           of_threads * (exponential + 1 + 4 + 2) + seen;
  }
  double flops = along_flops(a);
  for (const bool owns_keys : {false, true})
    flops += computed_scores(a, cut.backward, cut.backward, owns_keys) *
                 (2 * score + (owns_keys ? 4 : 2) * depth) +
             seen * (exponential + 4);
  return flops;
}

Work work(const Problem& p, const Target& target) {
  Work work = attention_gpu_work(p, target, "attention.tiles", ordinary_unit(p.outputs[0].dtype));
  work.main().executed = executed_of(p);
  return work;
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
