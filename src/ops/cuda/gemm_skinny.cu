#include "ops/cuda/gemm_skinny.cuh"

namespace headroom::cuda {
namespace {

template <class T, int kS>
void launch(const SkinnyArgs& args, cudaStream_t stream) {
  const std::int64_t per_block =
      args.along ? kSkinnyRows * (args.warps_along_k > 1 ? 1 : kSkinnyWarps) : 32 * kSkinnyLane<T>;
  const dim3 grid(static_cast<unsigned>((args.rows + per_block - 1) / per_block),
                  static_cast<unsigned>(args.splits));
  if (args.along)
    skinny_along<T, kS><<<grid, 32 * kSkinnyWarps, 0, stream>>>(args);
  else
    skinny_across<T, kS><<<grid, 32 * kSkinnyWarps, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void skinny(DType dtype, const SkinnyArgs& args, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    if (args.columns <= 4)
      launch<T, 4>(args, stream);
    else if (args.columns <= 12)  // ten classes
      launch<T, 12>(args, stream);
    else
      launch<T, 16>(args, stream);
  });
}

}  // namespace headroom::cuda
