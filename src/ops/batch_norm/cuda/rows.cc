// Channels side by side (NHWC, or [N, C]), with whatever is folded in. Runs all but
// batch_norm_inference_grad.
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/cuda/split.h"
#include "ops/rows_split.h"
#include "ops/sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/batch_norm/cuda/rows.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {
namespace {

int pack_of(const Problem& p) { return static_cast<int>(16 / size_of(p.outputs[0].dtype)); }

cuda::RowsSplit rows_split(const Problem& p) {
  const Channels s = channels_of(p);
  return {s.rows, s.channels, pack_of(p)};
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("sums are fp32");
  const Channels s = channels_of(p);
  if (s.plane != 1) return refuse("channels are not contiguous");
  if (s.channels % pack_of(p) != 0) return refuse("channels are not whole packs of 16 bytes");
  if (rows_split(p).tiles > cuda::RowsSplit::kMaxTiles) return refuse("too many channels");
  return accept();
}

std::size_t workspace(const Problem& p, const Target&) {
  if (p.op == "batch_norm_inference") return 0;
  const cuda::RowsSplit split = rows_split(p);
  return cuda::norm_rows_bytes(split.parts, split.channels);
}

// dy and x twice, but for a slope that is kept: then g is written by the first pass and read by the second.
// Tiles of packs do not end with sectors.
Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  const cuda::RowsSplit split = rows_split(p);
  const std::int64_t row = std::int64_t{split.packs} * 16;
  const double share = chunked_bytes(split.packs, split.tile, 16, row) / double(row);
  work.main().l2_bytes = share * work.bytes() + 2 * double(workspace(p, target));
  if (p.op == "batch_norm_inference") return work;
  const double again = static_cast<double>((p.op == "batch_norm" ? 1 : 2) * p.inputs[0].bytes());
  work.add_pass(again).launches.back().l2_bytes = share * again;
  return work;
}

#ifdef HEADROOM_HAS_CUDA
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

Launcher prepare(const Problem& p, const LaunchContext&) {
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
#endif

}  // namespace

Kernel batch_norm_cuda_rows() {
  return {.name = "cuda:rows",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .shares_counter = true,
          .layouts = Layouts::alike};
}

}  // namespace headroom
