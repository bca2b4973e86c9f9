#include "ops/bias_grad/cuda.h"

#include "ops/bias_grad/bias_grad.h"
#include "ops/channel_view.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_bias_grad_cuda(const Problem& p, const LaunchContext&) {
  const auto [rows, channels, plane] = channel_view(p.inputs[0]);
  return [=, dtype = p.outputs[0].dtype, splits = bias_splits(rows, channels, plane)](const LaunchArgs& a) {
    cuda::bias_grad(dtype, splits, rows, channels, plane, a.inputs[0], a.workspace, a.outputs[0],
                    cuda::stream_of(a));
  };
}

Launcher prepare_bias_grad_rows(const Problem& p, const LaunchContext&) {
  return [split = bias_rows_split(p), dtype = p.outputs[0].dtype,
          relu = p.inputs.size() > 1](const LaunchArgs& a) {
    cuda::bias_grad_rows(dtype, split, a.inputs[0], relu ? a.inputs[1] : nullptr,
                         relu ? a.outputs[1] : nullptr, static_cast<double*>(a.workspace), a.outputs[0],
                         cuda::stream_of(a));
  };
}

}  // namespace headroom
