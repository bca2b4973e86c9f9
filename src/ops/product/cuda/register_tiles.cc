// "cuda:register_tiles": a block computes 128 x 128 outputs (64 x 64 in fp64), each of its 256 threads a
// square of them in registers. Vector loads bring the next slices while the last ones are multiplied: shared
// memory holds two of each.
#include "ops/product/cuda/register_tiles.h"

#include "ops/product/cuda/rungs.h"

namespace headroom {
namespace {

using namespace products;

Work work(const Product& p, const Target&, Work least) {
  const std::int64_t tile = register_tile(p.dtype);
  return rung_work(p, std::move(least), "gpu.product.registers", tile_bytes(p, tile, tile), {tile, tile, 8});
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_register_tiles);
}
#endif

}  // namespace

ProductKernel product_register_tiles() {
  return {.name = "cuda:register_tiles",
          .accepts = accepts_rung,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .scales = true};
}

}  // namespace headroom
