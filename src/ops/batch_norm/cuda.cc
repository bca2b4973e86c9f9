#include "ops/batch_norm/cuda.h"

#include "ops/batch_norm/batch_norm.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace {

using cuda::BatchNormKind;

BatchNormKind kind_of(const Problem& p) {
  if (p.op == "batch_norm") return BatchNormKind::training;
  if (p.op == "batch_norm_inference") return BatchNormKind::inference;
  return p.op == "batch_norm_grad" ? BatchNormKind::training_grad : BatchNormKind::inference_grad;
}

cuda::BatchNormTensors tensors_of(BatchNormKind kind, const LaunchArgs& a) {
  cuda::BatchNormTensors t{
      .mean = a.inputs[3], .var = a.inputs[4], .y = a.outputs[0], .workspace = a.workspace};
  if (kind == BatchNormKind::training || kind == BatchNormKind::inference)
    t.x = a.inputs[0], t.scale = a.inputs[1], t.bias = a.inputs[2];
  else
    t.dy = a.inputs[0], t.x = a.inputs[1], t.scale = a.inputs[2], t.dscale = a.outputs[1],
    t.dbias = a.outputs[2];
  if (kind == BatchNormKind::training)
    t.new_mean = a.outputs[1], t.new_var = a.outputs[2], t.saved_mean = a.out<double>(3),
    t.saved_inv_std = a.out<double>(4);
  return t;
}

}  // namespace

Launcher prepare_batch_norm_cuda(const Problem& p, const Capabilities&) {
  const Channels s = channels_of(p);
  const BatchNormKind kind = kind_of(p);
  const bool backward = p.op.ends_with("_grad");
  const cuda::BatchNorm problem{.rows = s.rows,
                                .channels = s.channels,
                                .plane = s.plane,
                                .epsilon = s.epsilon,
                                .momentum = s.momentum,
                                .kind = kind,
                                .dtype = p.outputs[0].dtype,
                                .parameters = p.inputs[backward ? 2 : 1].dtype,
                                .split = {s.rows, s.channels, s.plane}};
  return [=](const LaunchArgs& a) { cuda::batch_norm(problem, tensors_of(kind, a), cuda::stream_of(a)); };
}

}  // namespace headroom
