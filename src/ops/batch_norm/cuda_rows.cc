#include "ops/batch_norm/cuda_rows.h"

#include "ops/batch_norm/batch_norm.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace {

cuda::NormRowsTensors forward_tensors(bool training, bool residual, const LaunchArgs& a) {
  cuda::NormRowsTensors t{.x = a.inputs[0],
                          .residual = residual ? a.inputs[5] : nullptr,
                          .scale = a.inputs[1],
                          .bias = a.inputs[2],
                          .mean = a.inputs[3],
                          .var = a.inputs[4],
                          .out = a.outputs[0],
                          .workspace = a.workspace};
  if (training)
    t.new_mean = a.outputs[1], t.new_var = a.outputs[2], t.saved_mean = a.out<double>(3),
    t.saved_inv_std = a.out<double>(4);
  return t;
}

cuda::NormRowsTensors gradient_tensors(const FoldedGradient& f, const LaunchArgs& a) {
  cuda::NormRowsTensors t{.x = a.inputs[1],
                          .scale = a.inputs[2],
                          .mean = a.inputs[3],
                          .var = a.inputs[4],
                          .out = a.outputs[0],
                          .dy = a.inputs[0],
                          .dscale = a.outputs[1],
                          .dbias = a.outputs[2],
                          .workspace = a.workspace};
  if (f.relu) t.bias = a.inputs[5];
  if (f.residual) t.y = a.inputs[6], t.g = a.outputs[3];
  if (f.summed) t.dy2 = a.inputs[7];
  return t;
}

}  // namespace

Launcher prepare_batch_norm_rows(const Problem& p, const Capabilities&) {
  const Channels s = channels_of(p);
  const bool gradient = p.op == "batch_norm_grad", training = p.op == "batch_norm";
  const cuda::NormRows problem{.split = rows_split(p),
                               .epsilon = s.epsilon,
                               .momentum = s.momentum,
                               .kind = gradient   ? cuda::BatchNormKind::training_grad
                                       : training ? cuda::BatchNormKind::training
                                                  : cuda::BatchNormKind::inference,
                               .dtype = p.outputs[0].dtype,
                               .parameters = p.inputs[gradient ? 2 : 1].dtype,
                               .relu = p.attrs.has("activation")};
  if (gradient)
    return [problem, f = folded_gradient(p)](const LaunchArgs& a) {
      cuda::batch_norm_rows(problem, gradient_tensors(f, a), cuda::stream_of(a));
    };
  return [problem, training, residual = p.inputs.size() > 5](const LaunchArgs& a) {
    cuda::batch_norm_rows(problem, forward_tensors(training, residual, a), cuda::stream_of(a));
  };
}

}  // namespace headroom
