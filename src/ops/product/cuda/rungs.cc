#include "ops/product/cuda/rungs.h"

#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom::products {

Verdict accepts_rung(const Product& p, const Target&) {
  if (p.dtype != DType::f32 && p.dtype != DType::f64)
    return refuse("shows an idea on ordinary cores, in fp32 and fp64");
  return accept();
}

// Each output is multiplied by alpha, and D and the bias are added.
double scaling_flops(const Product& p) { return ((p.beta == 0 ? 1 : 3) + (p.bias ? 1 : 0)) * outputs_of(p); }

double tile_bytes(const Product& p, std::int64_t tile_m, std::int64_t tile_n) {
  const double element = double(bytes_of(p.dtype)),
               factors = batch_of(p) * double(p.m + p.n) * double(p.k) * element;
  return factors + reloaded_bytes(p, tile_m, tile_n) + (p.beta == 0 ? 1 : 2) * outputs_of(p) * element;
}

Work rung_work(const Product& p, Work least, std::string_view family, double loaded_bytes,
               ProductExtent tile) {
  least.with(family, ordinary_unit(p.dtype), {p.m, p.n, p.k});
  KernelLaunch& main = least.main();
  main.l2_bytes = loaded_bytes;
  main.tile = tile;
  main.blocks = ceil_div(p.m, tile.m) * ceil_div(p.n, tile.n) * p.most_at_once();
  main.count = static_cast<int>(p.runs.size());
  main.executed = whole_tile_flops(p, tile.m, tile.n, tile.k) + scaling_flops(p);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_rung(const Product& product, LaunchRung launch) {
  return [p = product, launch](const LaunchArgs& args) {
    for (const ProductRun& run : p.runs) {
      const void *a = at(args.inputs[0], run.a, p.dtype), *b = at(args.inputs[1], run.b, p.dtype);
      void* c = at(args.outputs[0], run.c, p.dtype);
      const void* add = p.beta == 0 ? nullptr : at(args.inputs[p.bias ? 3 : 2], run.c, p.dtype);
      const bool whole_add = add == nullptr || whole_rows(add, p.ldc, run.stride_c, p.dtype);
      launch(p.dtype == DType::f64, !p.trans_a, p.trans_b,
             {.a = a,
              .b = b,
              .bias = p.bias ? args.inputs[2] : nullptr,
              .add = add,
              .c = c,
              .m = p.m,
              .n = p.n,
              .k = p.k,
              .ldc = p.ldc,
              .a_row = p.trans_a ? 1 : p.lda,
              .a_k = p.trans_a ? p.lda : 1,
              .b_k = p.trans_b ? 1 : p.ldb,
              .b_column = p.trans_b ? p.ldb : 1,
              .stride_a = run.stride_a,
              .stride_b = run.stride_b,
              .stride_c = run.stride_c,
              .alpha = p.alpha,
              .beta = p.beta,
              .batch = static_cast<int>(run.count),
              .whole_a = whole_rows(a, p.lda, run.stride_a, p.dtype),
              .whole_b = whole_rows(b, p.ldb, run.stride_b, p.dtype),
              .whole_c = whole_add && whole_rows(c, p.ldc, run.stride_c, p.dtype),
              .finish = p.finish},
             cuda::stream_of(args));
    }
  };
}
#endif

}  // namespace headroom::products
