#include "ops/activation/cuda.h"

#include "ops/activation/activation.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_activation_cuda(const Problem& p, const LaunchContext&) {
  const cuda::Curve curve = p.op.starts_with("relu")      ? cuda::Curve::relu
                            : p.op.starts_with("sigmoid") ? cuda::Curve::sigmoid
                                                          : cuda::Curve::tanh;
  return [curve, dtype = p.outputs[0].dtype, n = p.outputs[0].shape.numel(),
          backward = p.op.ends_with("_grad")](const LaunchArgs& a) {
    cuda::activate(dtype, curve, n, a.inputs[0], backward ? a.inputs[1] : nullptr, a.outputs[0],
                   cuda::stream_of(a));
  };
}

}  // namespace headroom
