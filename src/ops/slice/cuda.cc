#include "device/cuda/check.h"
#include "ops/cuda/box.h"
#include "ops/cuda/launch.h"
#include "ops/slice/slice.h"

namespace headroom {

Launcher prepare_slice_cuda(const Problem& p, const LaunchContext&) {
  const DType dtype = p.outputs[0].dtype;
  return [box = cuda::box_of(slice_copy(p)), bytes = static_cast<int>(size_of(dtype)),
          all = static_cast<std::size_t>(p.outputs[0].bytes()),
          backward = p.op == "slice_grad"](const LaunchArgs& a) {
    const cudaStream_t stream = cuda::stream_of(a);
    if (backward) HEADROOM_CUDA_CHECK(cudaMemsetAsync(a.outputs[0], 0, all, stream));
    cuda::copy_box(bytes, box, a.inputs[0], a.outputs[0], stream);
  };
}

}  // namespace headroom
