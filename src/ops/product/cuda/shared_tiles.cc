// "cuda:shared_1d" and "cuda:shared_2d": a block of 32 x 32 threads brings 32 x 32 elements of A and of B to
// shared memory, where each is used 32 times. The two differ only in how the arrays are declared.
#include "ops/product/cuda/shared_tiles.h"

#include "ops/product/cuda/rungs.h"

namespace headroom {
namespace {

using namespace products;

constexpr std::int64_t kTile = 32;

Work work(const Product& p, const Target&, Work least) {
  return rung_work(p, std::move(least), "gpu.product.shared", tile_bytes(p, kTile, kTile),
                   {kTile, kTile, kTile});
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_1d(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_shared_1d);
}
Launcher prepare_2d(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_shared_2d);
}
#endif

}  // namespace

ProductKernel product_shared_1d() {
  return {.name = "cuda:shared_1d",
          .accepts = accepts_rung,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare_1d),
          .scales = true};
}

ProductKernel product_shared_2d() {
  return {.name = "cuda:shared_2d",
          .accepts = accepts_rung,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare_2d),
          .scales = true};
}

}  // namespace headroom
