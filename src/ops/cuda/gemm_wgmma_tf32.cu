#include "ops/cuda/cluster.cuh"
#include "ops/cuda/gemm_wgmma.cuh"

namespace headroom::cuda {

WgmmaKernel tf32_wgmma(int tile_n) {
  return tile_n == 256 ? wgmma_kernel<float, 256, false, false>() : wgmma_kernel<float, 128, false, false>();
}

void allow_shared(const WgmmaKernel& kernel) {
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel.function),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
}

void launch_wgmma(const WgmmaKernel& kernel, const CUtensorMap& a, const CUtensorMap& b,
                  const WgmmaArgs& args, std::int64_t blocks, cudaStream_t stream) {
  launch_in_clusters(kernel.function, {blocks, kWgmmaThreads, kernel.shared_bytes, args.splits}, stream, a, b,
                     args);
}

}  // namespace headroom::cuda
