#include "ops/cuda/gemm_tiles.cuh"

namespace headroom::cuda {

TileKernel tf32_kernel(bool along_a, bool along_b) {
  return tile_kernel<Tf32, 64, 1, 1, 4>(along_a, along_b);
}

TileKernel fp64_kernel(bool along_a, bool along_b) {
  return tile_kernel<Fp64, 64, 1, 1, 4>(along_a, along_b);
}

void allow_shared(const TileKernel& kernel) {
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel.function),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
}

void launch_tiles(const TileKernel& kernel, const TileArgs& args, cudaStream_t stream) {
  const std::int64_t tiles_m = (args.m + kernel.tile - 1) / kernel.tile,
                     tiles_n = (args.n + kernel.tile - 1) / kernel.tile;
  const dim3 grid(static_cast<unsigned>(tiles_m * tiles_n), 1,
                  static_cast<unsigned>(args.batch * args.splits));
  kernel.function<<<grid, static_cast<unsigned>(kernel.threads),
                    static_cast<std::size_t>(kernel.shared_bytes), stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
