// "cuda:fp16x3" bound to a product.
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/check.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/gemm_fp16x3.h"
#include "ops/cuda/launch.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace {

// A copy [first second] along k of one factor: side by side where k runs along the rows, else on top of each
// other.
struct Copy {
  std::int64_t side, k, ld, second;  // `second` in elements from the first part
  std::int64_t along_k;              // from one term of the sums to the next
  std::int64_t along_side;
};
Copy copy_of(bool rows_along_k, std::int64_t side, std::int64_t k) {
  return rows_along_k ? Copy{side, k, 2 * k, k, 1, 2 * k} : Copy{side, k, side, k * side, side, 1};
}

cuda::Fp16x3Operand operand_of(const void* from, void* to, bool rows_along_k, std::int64_t side,
                               std::int64_t k, std::int64_t ld, const Copy& copy, bool hi_first) {
  return {.from = static_cast<const float*>(from),
          .to = to,
          .rows = rows_along_k ? side : k,
          .columns = rows_along_k ? k : side,
          .ld = ld,
          .to_rows = rows_along_k ? copy.side : copy.k,
          .to_columns = rows_along_k ? copy.k : copy.side,
          .to_ld = copy.ld,
          .hi = hi_first ? 0 : copy.second,
          .lo = hi_first ? copy.second : 0};
}

// The two products of one band of rows.
struct Band {
  cuda::GemmPlan correction, pieces;
};
Band band_of(const Product& p, const Fp16x3Plan& plan, const Copy& a, const Copy& b, std::int64_t rows) {
  cuda::GemmPlan::Problem problem{.dtype = DType::f16,
                                  .fp32_c = true,
                                  .trans_a = p.trans_a,
                                  .trans_b = p.trans_b,
                                  .m = rows,
                                  .n = plan.n,
                                  .k = 2 * plan.k,
                                  .lda = a.ld,
                                  .ldb = b.ld,
                                  .ldc = plan.n};
  const auto bytes = static_cast<std::size_t>(plan.library_bytes);
  cuda::GemmPlan correction(problem, bytes);
  problem.k = plan.piece;
  problem.batch = plan.pieces;
  problem.stride_a = plan.piece * a.along_k;
  problem.stride_b = plan.piece * b.along_k;
  problem.stride_c = rows * plan.n;
  cuda::GemmPlan pieces(problem, bytes);
  if (!correction.good() || !pieces.good())
    throw Error(Blame::run, fmt::format("cuBLASLt has no algorithm for {} x {} x {} in fp16", p.m, p.n, p.k),
                Hint{"choose `kernel` linear=cuda:tf32x3 and `kernel` matmul=cuda:tf32x3"});
  return {std::move(correction), std::move(pieces)};
}

}  // namespace

Launcher prepare_product_fp16x3(const Product& product, const LaunchContext&) {
  const Fp16x3Plan plan = plan_fp16x3(product);
  const Copy a = copy_of(!product.trans_a, plan.m, plan.k), b = copy_of(product.trans_b, plan.n, plan.k);
  const std::int64_t last = plan.m - (plan.bands - 1) * plan.band;
  auto bands = std::make_shared<std::vector<Band>>();  // all but the last, and the last
  if (plan.bands > 1) bands->push_back(band_of(product, plan, a, b, plan.band));
  if (plan.bands == 1 || last != plan.band) bands->push_back(band_of(product, plan, a, b, last));
  return [p = product, plan, a, b, bands](const LaunchArgs& args) {
    cudaStream_t stream = cuda::stream_of(args);
    char* memory = static_cast<char*>(args.workspace);
    auto* largest = reinterpret_cast<unsigned*>(memory);
    auto *copy_a = reinterpret_cast<std::uint16_t*>(memory + plan.a),
         *copy_b = reinterpret_cast<std::uint16_t*>(memory + plan.b);
    auto* slabs = reinterpret_cast<float*>(memory + plan.slabs);
    const cuda::Fp16x3Operands operands{
        .of = {operand_of(args.in<float>(0) + p.runs[0].a, copy_a, !p.trans_a, p.m, p.k, p.lda, a, false),
               operand_of(args.in<float>(1) + p.runs[0].b, copy_b, p.trans_b, p.n, p.k, p.ldb, b, true)},
        .largest = largest};
    HEADROOM_CUDA_CHECK(cudaMemsetAsync(largest, 0, 2 * sizeof *largest, stream));
    cuda::find_largest(operands, stream);
    cuda::split_fp16x3(operands, stream);
    for (std::int64_t i = 0; i < plan.bands; ++i) {
      const std::int64_t row = i * plan.band, rows = std::min(plan.band, plan.m - row);
      const Band& band = i + 1 < plan.bands ? bands->front() : bands->back();
      const std::uint16_t* rows_of_a = copy_a + row * a.along_side;
      band.correction.run(stream, rows_of_a, copy_b, slabs, nullptr, memory + plan.library);
      band.pieces.run(stream, rows_of_a + a.second, copy_b, slabs + rows * plan.n, nullptr,
                      memory + plan.library);
      cuda::sum_fp16x3({.slabs = slabs,
                        .slab = rows * plan.n,
                        .slab_ld = plan.n,
                        .count = static_cast<int>(plan.pieces) + 1,
                        .largest = largest,
                        .bias = p.bias ? args.in<float>(2) : nullptr,
                        .c = args.out<float>(0) + p.runs[0].c + row * p.ldc,
                        .rows = std::min(rows, p.m - row),
                        .n = p.n,
                        .ldc = p.ldc,
                        .finish = p.finish},
                       stream);
    }
  };
}

}  // namespace headroom
