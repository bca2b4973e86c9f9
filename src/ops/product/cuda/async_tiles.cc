// "cuda:async_tiles": cuda:register_tiles with slices that travel to shared memory by asynchronous copies,
// three steps ahead and past the registers.
#include "ops/product/cuda/register_tiles.h"
#include "ops/product/cuda/rungs.h"

namespace headroom {
namespace {

using namespace products;

Verdict accepts(const Product& p, const Target& target) {
  if (target.device.compute_capability < 80) return refuse("asynchronous copies need compute capability 8.0");
  return accepts_rung(p, target);
}

Work work(const Product& p, const Target&, Work least) {
  const std::int64_t tile = register_tile(p.dtype);
  return rung_work(p, std::move(least), "gpu.product.async", tile_bytes(p, tile, tile), {tile, tile, 8});
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& p, const LaunchContext&) { return prepare_rung(p, cuda::launch_async_tiles); }
#endif

}  // namespace

ProductKernel product_async_tiles() {
  return {.name = "cuda:async_tiles",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .scales = true};
}

}  // namespace headroom
