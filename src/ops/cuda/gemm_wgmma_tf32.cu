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
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(args.splits), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kWgmmaThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(kernel.shared_bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = args.splits > 1 ? 1 : 0;
  HEADROOM_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel.function, a, b, args));
}

}  // namespace headroom::cuda
