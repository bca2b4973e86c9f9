// "cuda:threads_along_columns" and "cuda:threads_along_rows": one thread per element of C. The 32 threads of
// a warp take neighbours of a column, or of a row. C lies row by row: along a row they read neighbours of B
// and write neighbours of C, along a column everything they touch lies a whole row apart. "cuda:outputs_4x4":
// 16 outputs a thread, along columns; "bench gemm" shows by it what work per thread is worth alone.
#include "ops/product/cuda/one_output.h"

#include <algorithm>

#include "ops/product/cuda/rungs.h"

namespace headroom {
namespace {

using namespace products;

// Outputs along an edge that threads compute, `side` of them each; threads past the end have left.
double computed(std::int64_t edge, std::int64_t threads, std::int64_t side) {
  return double(edge / (threads * side) * threads * side + std::min(edge % (threads * side), threads) * side);
}

// A block's rows and columns come through L2 once: the first cache keeps them while its threads walk along k.
Work work_along(const Product& p, Work least, bool rows, int side = 1) {
  const std::int64_t down = rows ? 8 : 32, across = rows ? 32 : 8;
  Work work = rung_work(p, std::move(least), side == 1 ? "gpu.product.threads" : "gpu.product.outputs",
                        tile_bytes(p, down * side, across * side), {down * side, across * side, 1});
  work.main().executed =
      2 * batch_of(p) * computed(p.m, down, side) * computed(p.n, across, side) * double(p.k) +
      scaling_flops(p);
  return work;
}

Work work_rows(const Product& p, const Target&, Work least) { return work_along(p, std::move(least), true); }
Work work_columns(const Product& p, const Target&, Work least) {
  return work_along(p, std::move(least), false);
}
Work work_4x4(const Product& p, const Target&, Work least) {
  return work_along(p, std::move(least), false, 4);
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_rows(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_threads_along_rows);
}
Launcher prepare_columns(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_threads_along_columns);
}
Launcher prepare_4x4(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_outputs_4x4);
}
#endif

}  // namespace

ProductKernel product_threads_along_rows() {
  return {.name = "cuda:threads_along_rows",
          .accepts = accepts_rung,
          .work = work_rows,
          .prepare = HEADROOM_CUDA(prepare_rows),
          .scales = true};
}

ProductKernel product_threads_along_columns() {
  return {.name = "cuda:threads_along_columns",
          .accepts = accepts_rung,
          .work = work_columns,
          .prepare = HEADROOM_CUDA(prepare_columns),
          .scales = true};
}

ProductKernel product_outputs_4x4() {
  return {.name = "cuda:outputs_4x4",
          .accepts = accepts_rung,
          .work = work_4x4,
          .prepare = HEADROOM_CUDA(prepare_4x4),
          .scales = true};
}

}  // namespace headroom
