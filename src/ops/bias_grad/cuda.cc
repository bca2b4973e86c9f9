#include "ops/bias_grad/cuda.h"

#include "ops/bias_grad/bias_grad.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_bias_grad_cuda(const Problem& p, const Capabilities&) {
  const Shape& s = p.inputs[0].shape;
  const std::int64_t rows = s[0], channels = s[1], plane = s.numel() / (s[0] * s[1]);
  return [=, dtype = p.outputs[0].dtype, splits = bias_splits(rows, channels, plane)](const LaunchArgs& a) {
    cuda::bias_grad(dtype, splits, rows, channels, plane, a.inputs[0], a.workspace, a.outputs[0],
                    cuda::stream_of(a));
  };
}

}  // namespace headroom
