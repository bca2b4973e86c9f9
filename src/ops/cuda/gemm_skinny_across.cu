#include "ops/cuda/gemm_skinny_across.cuh"

namespace headroom::cuda {
namespace {

// The plan's number of blocks, which it got by tiles of 128 rows (64 in fp64): narrower tiles take fewer
// pieces of k, never more. A piece is worth a round of loads.
template <class T>
void cut_across(SkinnyArgs& args) {
  constexpr std::int64_t kPlanned = 4 * kAcrossTile<T>, kRound = kAcrossAtOnce * kAcrossSlots;
  const std::int64_t tiles = tiles_of(args.rows, kAcrossTile<T>),
                     blocks = tiles_of(args.rows, kPlanned) * std::int64_t{args.splits};
  std::int64_t splits = blocks / tiles;
  if (splits > args.k / kRound) splits = args.k / kRound;
  if (splits <= 1 || tiles > kSkinnyTiles) return do_not_split(args);
  args.k_per_split = (args.k + splits - 1) / splits;
  args.splits = static_cast<int>((args.k + args.k_per_split - 1) / args.k_per_split);
}

template <class T, int kS>
void launch_across(SkinnyArgs args, cudaStream_t stream) {
  cut_across<T>(args);
  const dim3 grid(static_cast<unsigned>(tiles_of(args.rows, kAcrossTile<T>)),
                  static_cast<unsigned>(args.splits));
  across_k<T, kS><<<grid, 32 * kSkinnyWarps, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void skinny_across(DType dtype, const SkinnyArgs& args, cudaStream_t stream) {
  dispatch_skinny(dtype, args.columns, [&]<class T, int kS>() { launch_across<T, kS>(args, stream); });
}

}  // namespace headroom::cuda
