#include "ops/gather/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/gather/gather.h"

namespace headroom {
namespace {

cuda::GatherShape shape_of(const Problem& p) {
  const GatherSizes g = gather_sizes(p);
  return {.outer = g.outer,
          .extent = g.extent,
          .inner = g.inner,
          .count = g.count,
          .wide_indices = p.inputs[1].dtype == DType::i64};
}

}  // namespace

Launcher prepare_gather_cuda(const Problem& p, const LaunchContext&) {
  // NaN in every float type. Integers get a number far below 0: sums of such numbers and of places in a
  // tensor lie outside that tensor too, so that a gather by computed places notices.
  const unsigned char outside = is_float(p.outputs[0].dtype) ? 0xFF : 0x80;
  return [shape = shape_of(p), bytes = static_cast<int>(size_of(p.outputs[0].dtype)),
          outside](const LaunchArgs& a) {
    cuda::gather(bytes, shape, outside, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
  };
}

Launcher prepare_gather_grad_cuda(const Problem& p, const LaunchContext&) {
  return [shape = shape_of(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::gather_grad(dtype, shape, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom
