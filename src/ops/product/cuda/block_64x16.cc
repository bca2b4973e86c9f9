// "cuda:block_64x16": 16 x 4 threads compute a block of 64 x 16 outputs, 16 each, from 4 x 16 elements of one
// operand in shared memory and 1 x 4 of the other in registers. The course that suggests it stores matrices
// by columns; here they lie by rows, so the 64 are columns of C, the shared operand is A, and that in
// registers B.
#include "ops/product/cuda/block_64x16.h"

#include "ops/product/cuda/rungs.h"

namespace headroom {
namespace {

using namespace products;

Work work(const Product& p, const Target&, Work least) {
  return rung_work(p, std::move(least), "gpu.product.block_64x16", tile_bytes(p, 16, 64), {16, 64, 4});
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& p, const LaunchContext&) { return prepare_rung(p, cuda::launch_block_64x16); }
#endif

}  // namespace

ProductKernel product_block_64x16() {
  return {.name = "cuda:block_64x16",
          .accepts = accepts_rung,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .scales = true};
}

}  // namespace headroom
