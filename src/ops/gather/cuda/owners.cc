// Backward: a block owns rows and columns of dx and adds in the order of the indices, without atomics.
#include "ops/gather/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// owners.cu
void gather_grad(DType dtype, const GatherShape& shape, const void* dy, const void* indices, void* dx,
                 cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

// A place in the list of indices is remembered in 32 bits.
Verdict accepts(const Problem& p, const Target& target) {
  if (p.inputs[1].shape.numel() > INT32_MAX) return refuse("more than 2^31 indices");
  return accepts_cuda_floats(p, target);
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  return [shape = gather_shape(p), dtype = p.outputs[0].dtype](const LaunchArgs& a) {
    cuda::gather_grad(dtype, shape, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel gather_cuda_owners() {
  return {.name = "cuda:owners",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
