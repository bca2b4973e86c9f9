// "cuda:tiles": square tiles of the results on tensor cores. Factors whose rows do not begin at multiples of
// 16 bytes are copied first.
#include "ops/integer_product/integer_product.h"
#include "ops/product/cuda/shared.h"
#include "ops/sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/copy.h"
#include "ops/cuda/launch.h"
#include "ops/integer_product/cuda/bytes.h"
#include "ops/integer_product/cuda/tiles.h"
#endif

namespace headroom {
namespace {

using products::ceil_div;

// A factor with all its matrices, one below the other.
struct ByteRows {
  std::int64_t rows, columns, ld;
  std::size_t at = 0;  // of the copy, in bytes of the workspace

  ByteRows(const Shape& shape, std::int64_t length)
      : rows(shape.numel() / length), columns(length), ld(ceil_div(length, 16) * 16) {}
  bool copied() const { return ld != columns; }
  std::size_t bytes() const { return copied() ? align_up(static_cast<std::size_t>(rows * ld)) : 0; }
};

struct ByteTilesPlan {
  MatmulProblem product;
  ByteRows a, b;
  std::vector<ProductRun> runs;  // offsets and distances as the kernel meets them
  int tile = 128;

  std::size_t workspace() const { return a.bytes() + b.bytes(); }
  std::int64_t tiles(int side) const {
    return ceil_div(product.m, side) * ceil_div(product.n, side) * product.count();
  }
};

ByteTilesPlan plan_byte_tiles(const Problem& problem, const Target& target) {
  const MatmulProblem p = folded_matmul_integer(problem);
  ByteTilesPlan plan{p, ByteRows(problem.inputs[0].shape, p.k), ByteRows(problem.inputs[1].shape, p.n), {}};
  plan.b.at = plan.a.bytes();
  std::vector<std::int64_t> a = p.a, b = p.b;
  for (std::int64_t& at : a) at = at / p.k * plan.a.ld;
  for (std::int64_t& at : b) at = at / p.n * plan.b.ld;
  plan.runs = runs_of(a, b, p.m * p.n);
  if (plan.tiles(plan.tile) < target.device.multiprocessors) plan.tile = 64;
  return plan;
}

Verdict accepts_tiles(const Problem&, const Target& target) {
  if (target.device.compute_capability < 80)
    return refuse("products of bytes on tensor cores need compute capability 8.0 here");
  return accept();
}

Verdict pays_tiles(const Problem& problem, const Target&) {
  const MatmulProblem p = folded_matmul_integer(problem);
  if (p.m < 16 || p.n < 16)
    return refuse("with fewer than 16 rows or columns, most of a tile would be empty");
  return accept();
}

std::size_t workspace_tiles(const Problem& problem, const Target& target) {
  return plan_byte_tiles(problem, target).workspace();
}

// Tiles read rows of a in steps of 64 terms and rows of b, in pieces of 16 bytes, and store 16 results of a
// row at a time.
double asked_bytes(const ByteTilesPlan& plan) {
  const MatmulProblem& p = plan.product;
  const auto row = [](const ByteRows& rows, std::int64_t length, std::int64_t chunk) {
    return chunked_bytes(ceil_div(length, 16) * 16, chunk, 1, rows.ld);
  };
  return double(p.count()) * (double(p.m * ceil_div(p.n, plan.tile)) * row(plan.a, p.k, 64) +
                              double(p.k * ceil_div(p.m, plan.tile)) * row(plan.b, p.n, plan.tile) +
                              double(p.m) * chunked_bytes(p.n, 16, 4, 4 * p.n));
}

Work work_tiles(const Problem& problem, const Target& target) {
  const ByteTilesPlan plan = plan_byte_tiles(problem, target);
  const MatmulProblem& p = plan.product;
  Work work = least_work(problem, target);
  work.with("gpu.int8_tiles", Unit::int8, {p.m, p.n, p.k});
  work.main().tile = {plan.tile, plan.tile, 64};
  work.main().blocks = plan.tiles(plan.tile);
  work.main().count = static_cast<int>(plan.runs.size());
  work.main().l2_bytes = asked_bytes(plan);
  for (const ByteRows& rows : {plan.a, plan.b})
    if (rows.copied()) {
      const double bytes = double(rows.rows) * double(rows.columns);
      work.add_pass(2 * bytes).launches.back().l2_bytes =
          bytes + double(rows.rows) * touched_bytes(rows.columns, rows.ld);
    }
  return work;
}

#ifdef HEADROOM_HAS_CUDA
// Where the rows of a factor lie, after they were copied where that is needed.
const std::uint8_t* placed(const ByteRows& rows, const LaunchArgs& args, std::size_t i) {
  if (!rows.copied()) return args.in<std::uint8_t>(i);
  auto* const to = static_cast<std::uint8_t*>(args.workspace) + rows.at;
  cuda::copy_box(
      1, {.rank = 2, .extent = {rows.rows, rows.columns}, .from = {rows.columns, 1}, .to = {rows.ld, 1}},
      args.inputs[i], to, cuda::stream_of(args));
  return to;
}

Launcher prepare_tiles(const Problem& problem, const LaunchContext& context) {
  cuda::Bytes left = bytes_of(problem, 0), right = bytes_of(problem, 1);
  const ByteTilesPlan plan = plan_byte_tiles(problem, context.target);
  const cuda::ByteTileKernel kernel = cuda::byte_tile_kernel(plan.tile, left.is_signed, right.is_signed);
  cuda::allow_shared(kernel);
  return [plan, kernel, left, right](const LaunchArgs& args) {
    const MatmulProblem& p = plan.product;
    const std::uint8_t *a = placed(plan.a, args, 0), *b = placed(plan.b, args, 1);
    for (const ProductRun& run : plan.runs) {
      cuda::ByteTileArgs tiles{.a = at(left, args, 0),
                               .b = at(right, args, 1),
                               .c = args.out<std::int32_t>(0) + run.c,
                               .m = p.m,
                               .n = p.n,
                               .k = p.k,
                               .lda = plan.a.ld,
                               .ldb = plan.b.ld,
                               .stride_a = run.stride_a,
                               .stride_b = run.stride_b,
                               .count = static_cast<unsigned>(run.count),
                               .whole_c = p.n % 4 == 0};
      tiles.a.data = a + run.a, tiles.b.data = b + run.b;
      cuda::launch_byte_tiles(kernel, tiles, cuda::stream_of(args));
    }
  };
}
#endif

}  // namespace

Kernel matmul_integer_cuda_tiles() {
  return {.name = "cuda:tiles",
          .device = DeviceKind::cuda,
          .accepts = accepts_tiles,
          .pays = pays_tiles,
          .work = work_tiles,
          .prepare = HEADROOM_CUDA(prepare_tiles),
          .workspace = workspace_tiles};
}

}  // namespace headroom
