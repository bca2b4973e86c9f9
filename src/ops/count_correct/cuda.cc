#include "ops/count_correct/cuda.h"

#include "ops/count_correct/count_correct.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_count_correct_cuda(const Problem& p, const LaunchContext&) {
  return [dtype = p.inputs[0].dtype, rows = p.inputs[0].shape[0], classes = p.inputs[0].shape[1],
          wide = p.inputs[1].dtype == DType::i64](const LaunchArgs& a) {
    cuda::count_correct(dtype, rows, classes, a.inputs[0], a.inputs[1], wide, a.outputs[0],
                        cuda::stream_of(a));
  };
}

}  // namespace headroom
