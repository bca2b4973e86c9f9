// "cuda:threads_along_columns" and "cuda:threads_along_rows": one thread per element of C. The 32 threads of
// a warp take neighbours of a column, or of a row. C lies row by row: along a row they read neighbours of B
// and write neighbours of C, along a column everything they touch lies a whole row apart.
#include "ops/product/cuda/one_output.h"

#include "ops/product/cuda/rungs.h"

namespace headroom {
namespace {

using namespace products;

// Bytes that a warp moves for one term: memory comes in sectors of 32 bytes.
double sector_bytes(bool same, bool neighbours, DType dtype) {
  return same ? 32 : neighbours ? 32 * double(bytes_of(dtype)) : 32 * 32;
}

Work work_along(const Product& p, Work least, bool rows) {
  const double a = sector_bytes(rows, p.trans_a, p.dtype), b = sector_bytes(!rows, !p.trans_b, p.dtype);
  return rung_work(p, std::move(least), "gpu.product.threads", multiply_adds(p) / 32 * (a + b),
                   rows ? ProductExtent{8, 32, 1} : ProductExtent{32, 8, 1});
}

Work work_rows(const Product& p, const Target&, Work least) { return work_along(p, std::move(least), true); }
Work work_columns(const Product& p, const Target&, Work least) {
  return work_along(p, std::move(least), false);
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_rows(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_threads_along_rows);
}
Launcher prepare_columns(const Product& p, const LaunchContext&) {
  return prepare_rung(p, cuda::launch_threads_along_columns);
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

}  // namespace headroom
