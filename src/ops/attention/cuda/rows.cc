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

// A warp sums a score over its lanes. Forward: 128 threads share the scores of a row, and all of them add up
// what it has so far. Backward in fp64 every lane computes the exponential, else one does.
double executed_of(const Problem& p) {
  constexpr std::int64_t kChunk = 128;
  const AttentionProblem a = attention_problem(p);
  const DType dtype = p.outputs[0].dtype;
  const double width = double(a.width), seen = seen_scores(a), exponential = exp_flops(dtype),
               score = 2 * width + 5 * 32;
  if (is_backward(p))
    return along_flops(a) + seen * (4 * score + 3 * 2 * width +
                                    2 * (dtype == DType::f64 ? 32 : 1) * (exponential + 2) + 2 * 2);
  double chunks = 0;
  for (std::int64_t row = 0; row < a.time; ++row)
    chunks += double(((a.causal ? row + 1 : a.time) + kChunk - 1) / kChunk);
  const double rows = double(a.batch * a.heads);
  return seen * (score + 2 * width + exponential + 1) +
         kChunk * rows * (13 * chunks + exponential * (chunks - double(a.time)));
}

Work work(const Problem& p, const Target& target) {
  Work work = attention_gpu_work(p, target, "attention.rows", ordinary_unit(p.outputs[0].dtype));
  work.main().executed = executed_of(p);
  return work;
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
