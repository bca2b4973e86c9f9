// Sums of each channel by many blocks, then all elements. Takes every layout, and nothing folded in.
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/cuda/split.h"
#include "ops/sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/batch_norm/cuda/channels.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {
namespace {

Verdict accepts(const Problem& p, const Target& target) {
  if (p.attrs.has("activation")) return refuse("relu is folded in");
  return accepts_cuda_floats(p, target);
}

std::size_t workspace(const Problem& p, const Target&) {
  if (p.op == "batch_norm_inference") return 0;
  const Channels s = channels_of(p);
  return cuda::BatchNormSplit(s.rows, s.channels, s.plane).workspace(s.channels, s.plane);
}

// Stores go through to L2 as a warp makes them, of packs or of single elements of a plane, which do not begin
// with sectors; what loads have in common, the first cache keeps.
double stored_beyond(const Problem& p, const Channels& s) {
  const TensorType& y = p.outputs[0];
  const auto element = static_cast<std::int64_t>(size_of(y.dtype));
  const std::int64_t pack = 16 / element, chunk = 32 * (s.plane % pack == 0 ? pack : 1);
  const double planes = double(y.shape.numel()) / double(s.plane);
  return planes * chunked_bytes(s.plane, chunk, element, s.plane * element) - double(y.bytes());
}

Work work(const Problem& p, const Target& target) {
  const Channels s = channels_of(p);
  const bool columns = cuda::BatchNormSplit(s.rows, s.channels, s.plane).columns;
  Work work = least_work(p, target);
  if (!columns) work.main().l2_bytes = work.bytes() + stored_beyond(p, s);
  if (p.op == "batch_norm_inference") return work;
  // By the sums; then again by the elements, which need no x without statistics of the batch.
  const int read = p.op == "batch_norm" || p.op == "batch_norm_inference_grad" ? 1 : 2;
  return work.add_pass(static_cast<double>(read * p.inputs[0].bytes()), columns ? 2 : 1);
}

#ifdef HEADROOM_HAS_CUDA
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

Launcher prepare(const Problem& p, const LaunchContext&) {
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
#endif

}  // namespace

Kernel batch_norm_cuda_channels() {
  return {.name = "cuda:channels",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .layouts = Layouts::alike};
}

}  // namespace headroom
