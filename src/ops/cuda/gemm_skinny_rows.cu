#include "ops/cuda/gemm_skinny_rows.cuh"

namespace headroom::cuda {
namespace {

template <class T, int kS>
void launch_rows(SkinnyArgs args, cudaStream_t stream) {
  do_not_split(args);
  const auto blocks = static_cast<unsigned>(tiles_of(args.rows, kSkinnyRows * kRowWarps));
  many_rows<T, kS><<<blocks, 32 * kRowWarps, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void skinny_rows(DType dtype, const SkinnyArgs& args, cudaStream_t stream) {
  dispatch_skinny(dtype, args.columns, [&]<class T, int kS>() { launch_rows<T, kS>(args, stream); });
}

}  // namespace headroom::cuda
