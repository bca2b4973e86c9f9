#include "ops/attention/cuda.h"

#include "ops/attention/attention.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace {

using Run = void (*)(DType, const cuda::AttentionShape&, const cuda::AttentionData&, cudaStream_t);

Launcher prepare(const Problem& problem, Run run) {
  const AttentionProblem p = attention_problem(problem);
  const cuda::AttentionShape shape{p.batch, p.time, p.heads, p.width, p.causal, p.scale};
  const bool backward = problem.op == "attention_grad";
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

}  // namespace

Launcher prepare_attention_mma(const Problem& p, const Capabilities&) {
  return prepare(p, cuda::attention_mma);
}
Launcher prepare_attention_tiles(const Problem& p, const Capabilities&) {
  return prepare(p, cuda::attention_tiles);
}
Launcher prepare_attention_rows(const Problem& p, const Capabilities&) {
  return prepare(p, cuda::attention_rows);
}

}  // namespace headroom
