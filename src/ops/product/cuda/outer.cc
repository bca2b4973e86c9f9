// "cuda:outer": products whose sums are short, which are bound by writing the output. The gradient of a last
// layer's input is one, [batch, 10] by [10, hidden]: tiles of tensor cores would be mostly empty.
#include "ops/product/cuda/shared.h"
#include "ops/product/kernels.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#include "ops/cuda/outer.h"
#endif

namespace headroom {
namespace {

constexpr std::int64_t kMaxOuter = 16;  // terms of a sum

Verdict accepts(const Product& p, const Target&) {
  constexpr std::int64_t kLeastRows = 16;
  if (p.runs.size() != 1) return refuse("takes matrices at constant distances");
  if (p.k > kMaxOuter) return refuse(fmt::format("for sums of at most {} terms, not {}", kMaxOuter, p.k));
  if (p.m < kLeastRows) return refuse("fewer rows than a block computes");
  return accept();
}

Work work(const Product& p, const Target&, Work least) {
  least.with("gpu.outer", ordinary_unit(p.dtype), {p.m, p.n, p.k});
  // Blocks of 256 threads with 4 rows each, of whole packs of columns; sums of 4, 10 or 16 terms.
  const std::int64_t pack = p.dtype == DType::f64 ? 2 : 4, packs = products::ceil_div(p.n, pack),
                     width = packs <= 8    ? 8
                             : packs <= 16 ? 16
                                           : 32,
                     terms = p.k <= 4    ? 4
                             : p.k <= 10 ? 10
                                         : kMaxOuter;
  const double batch = products::batch_of(p), rows = double(products::round_up(p.m, 256 / width * 4)),
               columns = double(products::round_up(p.n, width * pack));
  // Blocks of a row of tiles share their rows of A, those of a column their columns of B, each by itself.
  const double down = rows / (256.0 / double(width) * 4), across = columns / double(width * pack),
               element = double(products::bytes_of(p.dtype));
  least.main().l2_bytes = least.main().bytes + batch * double(p.k) * element *
                                                   (double(p.m) * (across - 1) + double(p.n) * (down - 1));
  least.main().executed = batch * (2 * rows * columns * double(terms) + double(p.m) * double(p.n));
  return least;
}

#ifdef HEADROOM_HAS_CUDA
std::size_t bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2; }
#endif

}  // namespace

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_product_outer_slope(const Product& product, Activation slope) {
  return [p = product, slope](const LaunchArgs& launch) {
    const ProductRun& run = p.runs[0];
    const std::size_t size = bytes_of(p.dtype);
    auto at = [&](const void* base, std::int64_t elements) {
      return static_cast<const char*>(base) + elements * static_cast<std::int64_t>(size);
    };
    cuda::OuterArgs args{.a = at(launch.inputs[0], run.a),
                         .b = at(launch.inputs[1], run.b),
                         .bias = p.bias ? launch.inputs[2] : nullptr,
                         .y = slope == Activation::none ? nullptr : at(launch.inputs[2], run.c),
                         .c = static_cast<char*>(launch.outputs[0]) + run.c * static_cast<std::int64_t>(size),
                         .m = p.m,
                         .n = p.n,
                         .ldc = p.ldc,
                         .a_row = p.trans_a ? 1 : p.lda,
                         .a_k = p.trans_a ? p.lda : 1,
                         .b_column = p.trans_b ? p.ldb : 1,
                         .b_k = p.trans_b ? 1 : p.ldb,
                         .stride_a = run.stride_a,
                         .stride_b = run.stride_b,
                         .stride_c = run.stride_c,
                         .row_tiles = 0,  // the launch's business, as is the width
                         .k = static_cast<int>(p.k),
                         .batch = static_cast<int>(run.count),
                         .width = 0,
                         .whole = false,
                         .finish = p.finish,
                         .slope = slope};
    auto whole = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; };
    const std::size_t pack = p.dtype == DType::f64 ? 2 : 4;
    args.whole = whole(args.c) && whole(args.y) && p.ldc % static_cast<std::int64_t>(pack) == 0 &&
                 run.stride_c % static_cast<std::int64_t>(pack) == 0;
    cuda::outer(p.dtype, args, cuda::stream_of(launch));
  };
}

namespace {

Launcher prepare(const Product& product, const LaunchContext&) {
  return prepare_product_outer_slope(product, Activation::none);
}

}  // namespace
#endif

ProductKernel product_outer() {
  return {.name = "cuda:outer", .accepts = accepts, .work = work, .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
