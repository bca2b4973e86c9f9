#include "ops/relayout/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/relayout/relayout.h"

namespace headroom {

Launcher prepare_relayout_cuda(const Problem& p, const LaunchContext&) {
  const Transposition t = transposition_of(p);
  return [problem = cuda::Relayout{t.batch, t.rows, t.columns, p.attrs.real("scale", 1)},
          from = p.inputs[0].dtype, to = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::relayout(from, to, problem, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
