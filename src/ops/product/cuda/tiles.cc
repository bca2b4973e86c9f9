// "cuda:tiles": square tiles of the output on the tensor cores, for all types; and "cuda:tf32x3", the same
// where it is faster than the library.
#include <algorithm>

#include "ops/product/cuda/tile_sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/gemm.h"
#include "ops/cuda/launch.h"
#include "ops/product/cuda/tiles.h"
#endif

namespace headroom {
namespace {

using namespace products;

constexpr std::size_t kMaxPartials = std::size_t{64} << 20;

int depth_of(DType dtype) { return dtype == DType::f64 ? 16 : dtype == DType::f32 ? 32 : 64; }

// Stores of whole packs fill sectors. Others go element by element; by the counters of an H200 a store and
// the one after it leave together, so that two neighbours of a thread, or the eight of four threads, count
// once.
double stored_bytes(const Product& p, const TilePlan& plan, bool neighbours) {
  const bool apart = plan.splits > 1;  // sums of pieces, to be added up
  const std::int64_t element = apart ? std::int64_t(accumulator_bytes(p.dtype)) : bytes_of(p.dtype),
                     step = (apart ? p.n : p.ldc) * element, sector = kSectorBytes / element;
  const bool packs = step % 16 == 0;
  std::int64_t run = neighbours ? 2 : 8;
  if (packs) run = std::max(run, sector);
  return batch_of(p) * double(p.m * plan.splits) * chunked_bytes(p.n, run, element, step);
}

}  // namespace

double products::executed_in_tiles(const Product& p, const TilePlan& plan, const TileParts& parts) {
  const double once = whole_tile_flops(p, plan.tile, plan.tile, depth_of(p.dtype));
  const double additions =
      parts.splits > 0 ? split_share(plan.tile == 128 ? 64 : 32, 32, parts.splits) * once : 0;
  return parts.products * once + additions +
         ((plan.splits > 1 ? plan.splits : 0) + (p.bias ? 1 : 0)) * outputs_of(p);
}

void products::count_tile_sectors(Work& work, const Product& p, const TilePlan& plan, std::int64_t depth,
                                  bool neighbours) {
  KernelLaunch& main = work.main();
  const double stored = stored_bytes(p, plan, neighbours);
  main.l2_bytes = main.bytes + more_for_factors(p, {plan.tile, plan.tile, depth});
  if (plan.splits > 1)
    work.add_pass(2 * double(plan.workspace), main.count).launches.back().l2_bytes =
        stored + double(plan.splits) * outputs_of(p) * double(accumulator_bytes(p.dtype));
  else
    main.l2_bytes += stored - outputs_of(p) * double(bytes_of(p.dtype));
}

// The costs are cycles of one multiprocessor, estimated from the rate of the tensor cores for fp32 in three
// tf32 products: what matters is when to take the smaller tile and when to split, not the sum.
TilePlan plan_tiles(const Product& p, int multiprocessors) {
  const double units = std::max(1, multiprocessors);
  const std::int64_t batch = p.most_at_once(), depth = depth_of(p.dtype),
                     steps = std::max<std::int64_t>(1, ceil_div(p.k, depth));
  TilePlan best;
  double least = 0;
  for (const int tile : {128, 64}) {
    if (tile == 128 && (p.dtype != DType::f32 || p.tf32)) continue;  // made where no library is faster
    const std::int64_t tiles = ceil_div(p.m, tile) * ceil_div(p.n, tile) * batch;
    for (int splits = 1; splits <= std::min<std::int64_t>(steps, 32); ++splits) {
      const std::int64_t per_split = ceil_div(steps, splits);
      if (splits > 1 && ceil_div(steps, per_split) != splits) continue;
      const std::size_t workspace =
          splits == 1 ? 0 : static_cast<std::size_t>(splits * batch * p.m * p.n) * accumulator_bytes(p.dtype);
      if (splits > 1 && (workspace > kMaxPartials || tiles * splits > 4 * std::int64_t(units))) break;
      const double deep = double(ceil_div(tiles * splits, std::int64_t(units)));  // blocks of the busiest
      // A lone block of 4 warps cannot hide its own latencies.
      const double per_step = tile == 128 ? 2500 * deep : deep == 1 ? 1100 : 750 * deep;
      const double cost =
          per_step * double(per_split) + 1500 + (splits > 1 ? 3500 + 2 * double(workspace) / 2000 : 0);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best = {.tile = tile, .splits = splits, .k_per_split = per_split * depth, .workspace = workspace};
    }
  }
  return best;
}

namespace {

std::size_t workspace(const Product& p, const Target& target) {
  return plan_tiles(p, target.device.multiprocessors).workspace;
}

Verdict accepts(const Product&, const Target& target) {
  if (target.device.compute_capability < 80)
    return refuse("its tensor-core products need compute capability 8.0");
  return accept();
}

// cuBLAS computes exact fp32 on ordinary cores; this on tensor cores, each factor in two parts. Measured on
// an H200: 64x784x3200 took 500 us by the library, where the whole training step took 82 us with this;
// 1000x17496x160 took 156 us by the library and 217 by this.
Verdict accepts_small_fp32(const Product& p, const Target& target) {
  constexpr double kMax = 1e9;  // products and sums
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (target.device.cublaslt && double(p.m) * double(p.n) * double(p.k) * double(p.most_at_once()) > kMax)
    return refuse("too large: cuBLAS's ordinary arithmetic is faster");
  return accepts(p, target);
}

Work work(const Product& p, const Target& target, Work least) {
  const TilePlan plan = plan_tiles(p, target.device.multiprocessors);
  const bool split = p.dtype == DType::f32 && !p.tf32;  // three products of tf32 for one of fp32
  least.with(p.dtype == DType::f64 ? "gpu.tiles.fp64"
             : split               ? "gpu.tiles.fp32"
                                   : "gpu.tiles.16bit",
             split ? Unit::tf32 : tensor_unit(p.dtype, p.tf32), {p.m, p.n, p.k});
  KernelLaunch& main = least.main();
  main.tile = {plan.tile, plan.tile, depth_of(p.dtype)};
  main.blocks = ceil_div(p.m, plan.tile) * ceil_div(p.n, plan.tile) * p.most_at_once() * plan.splits;
  main.count = static_cast<int>(p.runs.size());
  main.executed = executed_in_tiles(p, plan, split ? kTf32Parts : kOneProduct);
  count_tile_sectors(least, p, plan, depth_of(p.dtype), bytes_of(p.dtype) > 2);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
cuda::TileKernel tile_kernel_of(const Product& p, int tile) {
  switch (p.dtype) {
    case DType::f64:
      return cuda::fp64_kernel(!p.trans_a, p.trans_b);
    case DType::f16:
      return cuda::half_kernel(!p.trans_a, p.trans_b);
    case DType::bf16:
      return cuda::brain_kernel(!p.trans_a, p.trans_b);
    default:
      return p.tf32 ? cuda::tf32_kernel(!p.trans_a, p.trans_b)
                    : cuda::tf32x3_kernel(tile, !p.trans_a, p.trans_b);
  }
}

Launcher prepare(const Product& product, const LaunchContext& context) {
  const TilePlan plan = plan_tiles(product, context.target.device.multiprocessors);
  return tiles_launcher(product, plan, tile_kernel_of(product, plan.tile));
}
#endif

}  // namespace

#ifdef HEADROOM_HAS_CUDA
Launcher products::tiles_launcher(const Product& product, const TilePlan& plan,
                                  const cuda::TileKernel& kernel) {
  cuda::allow_shared(kernel);
  return [p = product, plan, kernel](const LaunchArgs& args) {
    const void* bias = p.bias ? args.inputs[2] : nullptr;
    for (const ProductRun& run : p.runs) {
      const void *a = at(args.inputs[0], run.a, p.dtype), *b = at(args.inputs[1], run.b, p.dtype);
      void* c = at(args.outputs[0], run.c, p.dtype);
      cuda::launch_tiles(kernel,
                         {.a = a,
                          .b = b,
                          .bias = bias,
                          .c = c,
                          .partial = plan.splits > 1 ? args.workspace : nullptr,
                          .m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .lda = p.lda,
                          .ldb = p.ldb,
                          .ldc = p.ldc,
                          .stride_a = run.stride_a,
                          .stride_b = run.stride_b,
                          .stride_c = run.stride_c,
                          .k_per_split = plan.k_per_split,
                          .batch = static_cast<int>(run.count),
                          .splits = plan.splits,
                          .whole_a = whole_rows(a, p.lda, run.stride_a, p.dtype),
                          .whole_b = whole_rows(b, p.ldb, run.stride_b, p.dtype),
                          .whole_c = whole_rows(c, p.ldc, run.stride_c, p.dtype),
                          .finish = p.finish},
                         cuda::stream_of(args));
      if (plan.splits > 1)
        cuda::finish_partials(p.dtype,
                              {.from = args.workspace,
                               .c = c,
                               .bias = bias,
                               .rows = run.count * p.m,
                               .n = p.n,
                               .pieces = plan.splits,
                               .finish = p.finish},
                              cuda::stream_of(args));
    }
  };
}
#endif

ProductKernel product_tiles() {
  return {.name = "cuda:tiles",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

ProductKernel product_tf32x3() {
  ProductKernel kernel = product_tiles();
  kernel.name = "cuda:tf32x3";
  kernel.accepts = accepts_small_fp32;
  return kernel;
}

}  // namespace headroom
