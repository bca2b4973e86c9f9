#include "device/cuda/check.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace all_reduce_cuda_cc {
namespace {

void copy_bytes(const LaunchArgs& args, void* to, const void* from, std::size_t bytes) {
  if (to != from)
    HEADROOM_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda::stream_of(args)));
}

}  // namespace
}  // namespace all_reduce_cuda_cc

Launcher prepare_all_reduce_cuda(const Problem& p, const LaunchContext& context) {
  using namespace all_reduce_cuda_cc;
  return prepare_all_reduce(p, context, copy_bytes);
}
Launcher prepare_all_reduce_start_cuda(const Problem& p, const LaunchContext& context) {
  using namespace all_reduce_cuda_cc;
  return prepare_all_reduce_start(p, context, copy_bytes);
}
Launcher prepare_all_reduce_finish_cuda(const Problem& p, const LaunchContext& context) {
  using namespace all_reduce_cuda_cc;
  return prepare_all_reduce_finish(p, context, copy_bytes);
}

}  // namespace headroom
