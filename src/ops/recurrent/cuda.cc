#include "ops/recurrent/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/recurrent/recurrent.h"

namespace headroom {

Launcher prepare_recurrent_cuda(const Problem& problem, const LaunchContext&) {
  const RecurrentProblem p = recurrent_problem(problem);
  const cuda::RecurrentShape shape{
      static_cast<int>(p.kind), p.gates, p.seq, p.batch, p.input, p.hidden, p.dirs, p.reversed,
      p.linear_before_reset,    p.relu};
  return [shape, p, dtype = problem.outputs[0].dtype](const LaunchArgs& a) {
    const bool lstm = p.kind == CellKind::lstm;
    cuda::recurrent(dtype, shape,
                    {.x = a.inputs[0],
                     .w = a.inputs[1],
                     .r = a.inputs[2],
                     .b = p.bias ? a.inputs[3] : nullptr,
                     .h0 = p.initial ? a.inputs[p.h0()] : nullptr,
                     .c0 = p.initial && lstm ? a.inputs[p.h0() + 1] : nullptr,
                     .y = a.outputs[0],
                     .y_h = a.outputs[1],
                     .y_c = lstm ? a.outputs[2] : nullptr,
                     .scratch = a.workspace},
                    cuda::stream_of(a));
  };
}

}  // namespace headroom
