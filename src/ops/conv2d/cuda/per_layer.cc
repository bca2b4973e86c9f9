// Other kernels for other layers: windows with few products leave a matrix product mostly empty, and their
// filters fit constant memory; all others are products.
#include "ops/conv2d/cuda/rungs.h"

namespace headroom {
namespace {

// The first layer of a network: one to three channels.
bool few_products(const Problem& p, const Target& target) {
  return sweep_of(p).depth() <= 160 && conv2d_cuda_constant_unrolled().accepts(p, target).ok;
}

const Kernel& kernel_for(const Problem& p, const Target& target) {
  static const Kernel few = conv2d_cuda_constant_unrolled(), many = conv2d_cuda_register_matmul();
  return few_products(p, target) ? few : many;
}

Verdict accepts(const Problem& p, const Target& target) {
  return conv2d_cuda_register_matmul().accepts(p, target);
}
Work work(const Problem& p, const Target& target) { return kernel_for(p, target).work(p, target); }

std::size_t workspace(const Problem& p, const Target& target) {
  const Kernel& kernel = kernel_for(p, target);
  return kernel.workspace ? kernel.workspace(p, target) : 0;
}

#ifdef HEADROOM_HAS_CUDA
// What a thread reads serves four maps.
constexpr const char* kFewProducts = "block=16,coarsen=4";

Launcher prepare(const Problem& p, const LaunchContext& context) {
  LaunchContext of = context;
  of.variant = few_products(p, context.target) ? kFewProducts : "";
  return kernel_for(p, context.target).prepare(p, of);
}
#endif

}  // namespace

Kernel conv2d_cuda_per_layer() {
  return {.name = "cuda:per_layer",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .shares_counter = true};
}

}  // namespace headroom
