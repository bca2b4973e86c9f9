#include "ops/tally/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/tally/tally.h"

namespace headroom {

Launcher prepare_tally_cuda(const Problem& p, const LaunchContext&) {
  const bool has_correct = p.inputs.size() == 3;
  return [loss = p.inputs[0].dtype, correct = p.inputs[1].dtype, has_correct,
          count = double(p.attrs.integer("count", 1))](const LaunchArgs& a) {
    cuda::tally(loss, a.inputs[0], correct, has_correct ? a.inputs[1] : nullptr, count, a.out<double>(0),
                cuda::stream_of(a));
  };
}

}  // namespace headroom
