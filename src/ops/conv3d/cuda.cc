// One thread for a few outputs of one place. Takes every shape and type.
#include "ops/conv3d/conv3d.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/conv3d/cuda.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {
namespace conv3d_cuda_cc {
namespace {

// Neighbours share what they read through L2 alone.
Work direct_work(const Problem& p, const Target& target) {
  const Conv3d c = parse_conv3d(p);
  Work work = least_work(p, target);
  work.with("gpu.conv.direct", ordinary_unit(p.outputs[0].dtype),
            {c.group_maps(), c.batch * c.window.outputs(), c.depth()});
  work.main().l2_bytes = work.flops() / 2 * double(size_of(p.inputs[0].dtype));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_direct(const Problem& p, const LaunchContext&) {
  const Conv3d c = parse_conv3d(p);
  const DType dtype = p.outputs[0].dtype;
  if (p.op == "conv3d_grad_input")
    return [=](const LaunchArgs& a) {
      cuda::conv3d_grad_input(dtype, c, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    };
  if (p.op == "conv3d_grad_weight")
    return [=](const LaunchArgs& a) {
      cuda::conv3d_grad_weight(dtype, c, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    };
  return [=](const LaunchArgs& a) {
    cuda::conv3d(dtype, c, a.inputs[0], a.inputs[1], c.bias ? a.inputs[2] : nullptr, a.outputs[0],
                 cuda::stream_of(a));
  };
}
#endif

}  // namespace
}  // namespace conv3d_cuda_cc

Kernel conv3d_cuda_direct() {
  using namespace conv3d_cuda_cc;
  return {.name = "cuda:direct",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = direct_work,
          .prepare = HEADROOM_CUDA(prepare_direct)};
}

}  // namespace headroom
