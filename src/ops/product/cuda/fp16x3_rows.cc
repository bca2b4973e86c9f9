// "cuda:fp16x3_rows": fp32 products that read their larger factor once, as it is, and write only the smaller
// one anew, in parts of fp16. What it does is told in ops/cuda/gemm_rows.h.
#include "ops/product/cuda/tile_sectors.h"
#include "ops/product/rows_plan.h"
#ifdef HEADROOM_HAS_CUDA
#include <memory>

#include "ops/cuda/fp16_parts.h"
#include "ops/cuda/gemm_rows.h"
#include "ops/cuda/launch.h"
#include "ops/cuda/tensor_map.h"
#endif

namespace headroom {
namespace {

using namespace products;

RowsPlan plan_of(const Product& p, const Target& target) {
  return plan_rows(p, target.device.multiprocessors);
}

std::size_t workspace(const Product& p, const Target& target) { return plan_of(p, target).workspace; }

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (std::string reason = no_wgmma(p, target.device.compute_capability); !reason.empty())
    return refuse(std::move(reason));
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  const RowsPlan plan = plan_of(p, target);
  if ((plan.swapped ? p.ldb : p.lda) % 4 != 0 || (plan.swapped ? p.runs[0].b : p.runs[0].a) % 4 != 0)
    return refuse("the copy engine wants rows of the larger factor at multiples of 16 bytes");
  if (target.device.memory_bytes != 0 && plan.workspace > target.device.memory_bytes / 8)
    return refuse("its copy would take more than an eighth of the device's memory");
  return accept();
}

// Measured on an H200 in fp32: 10,000 x 160 x 17,496 in 370 us (1,041 by "cuda:fp16x3_wgmma"), 16 x 4,096 x
// 25,088 in 166 (468 by the library), 64 x 4,096 x 9,216 in 74 (110). In tf32 the library took 45 us for the
// last, this 61. But it does not share long sums of few tiles among blocks: 32 to 300 x 160 x 17,496 took it
// 325 us, this 27 to 37. For linear layers of 1,000 rows it did; from 10,000 on this is faster again.
Verdict pays(const Product& p, const Target& target) {
  constexpr std::int64_t kManyValues = std::int64_t{8} << 20, kFewColumns = 192, kFewForTf32 = 32;
  constexpr std::int64_t kLongSums = 4096, kFewTiles = 8, kHugeFactor = std::int64_t{128} << 20;
  const RowsPlan plan = plan_of(p, target);
  if (p.tf32 && p.k >= kLongSums && ceil_div(p.m, 128) * ceil_div(p.n, 128) <= kFewTiles) return accept();
  const bool huge = plan.rows * p.k >= kHugeFactor;
  if (plan.rows * p.k < kManyValues)
    return refuse("the larger factor is small enough to be written in parts too");
  if (plan.columns > (p.tf32 && !huge ? kFewForTf32 : kFewColumns))
    return refuse("with so many columns the larger factor is split too often");
  return accept();
}

// Rows as they are, columns in parts, and results.
double asked_bytes(const Product& p, const RowsPlan& plan) {
  const CopiedFactor rows{plan.rows, p.k, plan.swapped ? p.ldb : p.lda, plan.along_rows, 4, kWgmmaRows, 32},
      columns{plan.columns, p.k, plan.ld, plan.along_columns, 2, plan.tile_n, 64};
  return rows.bytes() * double(ceil_div(plan.columns, plan.tile_n)) +
         (p.tf32 ? 1 : 2) * columns.bytes() * double(ceil_div(plan.rows, kWgmmaRows)) + 4 * outputs_of(p);
}

Work work(const Product& p, const Target& target, Work least) {
  const RowsPlan plan = plan_of(p, target);
  const double parts = p.tf32 ? 1 : 2, smaller = double(plan.columns) * double(p.k);
  least.with(p.tf32 ? "gpu.fp16_rows" : "gpu.fp16x3_rows", Unit::fp16, {p.m, p.n, p.k});
  if (!p.tf32) least.main().flops *= 3;
  least.main().tile = {kWgmmaRows, plan.tile_n, p.k / plan.splits};
  least.main().blocks = plan.tiles * plan.splits;
  // Each step of 64 of k splits its rows and adds its sums to those before; each block scales its sums twice.
  const double lines = double(plan.tiles) * kWgmmaRows, steps = double(ceil_div(p.k, 64));
  least.main().executed = lines * steps * ((p.tf32 ? 1 : 3) * 128.0 * plan.tile_n + plan.tile_n) +
                          lines * steps * 64 * (p.tf32 ? 1 : 2) + 3 * lines * plan.splits * plan.tile_n +
                          (plan.splits - 1) * outputs_of(p);
  least.main().l2_bytes = asked_bytes(p, plan);
  least.add_pass((4 + 2 * parts) * smaller, 1);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
struct RowsMaps {
  cuda::PlacedMap rows, columns;
};

std::shared_ptr<RowsMaps> maps_of(const Product& p, const RowsPlan& plan, int parts) {
  return std::make_shared<RowsMaps>(
      RowsMaps{cuda::PlacedMap({.dtype = DType::f32,
                                .rounded = false,
                                .columns = plan.along_rows ? p.k : plan.rows,
                                .rows = plan.along_rows ? plan.rows : p.k,
                                .ld = plan.swapped ? p.ldb : p.lda,
                                .box_rows = plan.along_rows ? kWgmmaRows : 64}),
               cuda::parts_map(plan.along_columns, plan.columns, p.k, plan.ld, parts, plan.tile_n)});
}

Launcher prepare(const Product& product, const LaunchContext& context) {
  const RowsPlan plan = plan_of(product, context.target);
  const int parts = product.tf32 ? 1 : 2;
  return [p = product, plan, parts, maps = maps_of(product, plan, parts)](const LaunchArgs& args) {
    cudaStream_t stream = cuda::stream_of(args);
    char* const memory = static_cast<char*>(args.workspace);
    auto* const scale = reinterpret_cast<cuda::PartsScale*>(memory);
    const float *const a = args.in<float>(0) + p.runs[0].a, *const b = args.in<float>(1) + p.runs[0].b;
    void* const to = memory + plan.parts;
    cuda::write_parts({.of = {{.from = plan.swapped ? a : b,
                               .rows = plan.along_columns ? plan.columns : p.k,
                               .columns = plan.along_columns ? p.k : plan.columns,
                               .ld = plan.swapped ? p.lda : p.ldb,
                               .to = to,
                               .to_ld = plan.ld,
                               .max_parts = parts,
                               .scale = scale}},
                       .count = 1,
                       .found = reinterpret_cast<cuda::PartsFound*>(memory + plan.found)},
                      plan.parts_blocks, stream);
    float* const c = args.out<float>(0) + p.runs[0].c;
    cuda::multiply_rows({.along_rows = plan.along_rows,
                         .along_columns = plan.along_columns,
                         .exact = !p.tf32,
                         .tile_n = plan.tile_n},
                        maps->rows.at(plan.swapped ? b : a), maps->columns.at(to),
                        {.bias = p.bias ? args.in<float>(2) : nullptr,
                         .c = c,
                         .scale = scale,
                         .rows = plan.rows,
                         .columns = plan.columns,
                         .ldc = p.ldc,
                         .steps = plan.steps,
                         .splits = plan.splits,
                         .swapped = plan.swapped,
                         .whole_c = whole_rows(c, p.ldc, 0, p.dtype),
                         .finish = p.finish},
                        stream);
  };
}
#endif

}  // namespace

ProductKernel product_fp16x3_rows() {
  return {.name = "cuda:fp16x3_rows",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .pays = pays};
}

}  // namespace headroom
