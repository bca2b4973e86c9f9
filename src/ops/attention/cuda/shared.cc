#include "ops/attention/cuda/shared.h"

#include <algorithm>

#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

std::size_t along_bytes(const Problem& p, const Target&) {
  return is_backward(p) ? static_cast<std::size_t>(p.inputs[3].bytes()) : 0;
}

double computed_scores(const AttentionProblem& a, std::int64_t own, std::int64_t loop, bool owns_keys) {
  double scores = 0;
  for (std::int64_t first = 0; first < a.time; first += own) {
    const std::int64_t begin = a.causal && owns_keys ? first : 0,
                       end = a.causal && !owns_keys ? std::min(a.time, first + own) : a.time;
    scores += double(own * ((end - begin + loop - 1) / loop * loop));
  }
  return double(a.batch * a.heads) * scores;
}

double seen_scores(const AttentionProblem& a) { return double(a.batch * a.heads * a.pairs()); }

double along_flops(const AttentionProblem& a) {
  return double(a.batch * a.heads * a.time) * (2 * double(a.width) + 5 * 32);
}

Work attention_gpu_work(const Problem& p, const Target& target, std::string_view family, Unit unit) {
  const AttentionProblem a = attention_problem(p);
  Work work = least_work(p, target);
  work.with(family, unit);
  if (!is_backward(p)) return work;
  work.main().flops += 4 * double(a.batch * a.heads * a.pairs() * a.width);
  work.main().count = 3;
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher attention_launcher(const Problem& problem, AttentionRun run) {
  const AttentionProblem p = attention_problem(problem);
  const cuda::AttentionShape shape{p.batch, p.time, p.heads, p.width, p.causal, p.scale};
  const bool backward = is_backward(problem);
  return [shape, run, backward, dtype = problem.outputs[0].dtype](const LaunchArgs& a) {
    const cudaStream_t stream = cuda::stream_of(a);
    if (!backward) return run(dtype, shape, {a.inputs[0], a.outputs[0], a.outputs[1]}, stream);
    const cuda::AttentionData data{.qkv = a.inputs[1],
                                   .y = const_cast<void*>(a.inputs[2]),
                                   .lse = const_cast<void*>(a.inputs[3]),
                                   .dy = a.inputs[0],
                                   .dqkv = a.outputs[0],
                                   .along = a.workspace};
    cuda::attention_along(dtype, shape, data, stream);
    run(dtype, shape, data, stream);
  };
}
#endif

}  // namespace headroom
