#include "ops/cuda/gemm_skinny.cuh"

namespace headroom::cuda {
namespace {

template <class T, int kS>
void launch(SkinnyArgs args, cudaStream_t stream) {
  const std::int64_t tiles = tiles_of(args.rows, kSkinnyRows);
  if (tiles > kSkinnyTiles) do_not_split(args);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(args.splits));
  few_rows<T, kS><<<grid, 32 * kSkinnyWarps, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void skinny(DType dtype, const SkinnyArgs& args, cudaStream_t stream) {
  if (!args.along) return skinny_across(dtype, args, stream);
  if (args.warps_along_k == 1) return skinny_rows(dtype, args, stream);
  dispatch_skinny(dtype, args.columns, [&]<class T, int kS>() { launch<T, kS>(args, stream); });
}

}  // namespace headroom::cuda
