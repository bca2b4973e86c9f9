// "cuda:fp16x3": exact fp32 by products of fp16 parts. What it does is told in ops/cuda/gemm_fp16x3.h.
#include <algorithm>
#include <cmath>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/check.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/launch.h"
#include "ops/product/cuda/fp16x3_copy.h"
#endif

namespace headroom {
namespace {

using products::ceil_div, products::round_up;
#ifdef HEADROOM_HAS_CUDA
using products::copy_of, products::operand_of, products::PartsCopy;
#endif

// Slabs of one band of rows. More would be no faster and, with large outputs, more memory than all the rest.
constexpr std::int64_t kMaxSlabs = std::int64_t{300} << 20;
// Slabs that stay in the second-level cache cost little, and pieces make up for few tiles.
constexpr std::int64_t kCachedSlabs = std::int64_t{16} << 20;

// Tensor cores cut their fp32 sums off instead of rounding them. On all-positive data that costs 4.3e-9 of
// the result for each term that one accumulator takes (1.1e-6 at 256, measured on an H200), while ordinary
// fp32 sums of k terms err by 1.3e-8 sqrt(k) (8.4e-7 at 4096): with 4 sqrt(k) terms it is 1.3 times as much.
// Rounding up to whole steps of the library's tiles brings that to 1.9 at the most. Short sums did better
// than that (3.8e-7 with pieces of 112 at k = 784, as cuBLAS), so theirs may be longer: each piece is a
// matrix written and read.
std::int64_t longest_piece(std::int64_t k) {
  const double terms = (k <= 1024 ? 5.5 : 4) * std::sqrt(double(k));
  return round_up(std::max<std::int64_t>(64, std::llround(terms)), 64);
}

}  // namespace

Fp16x3Plan plan_fp16x3(const Product& p) {
  Fp16x3Plan plan;
  // Whole packs of 8 everywhere: the copies are filled up with zeros, which change no sum.
  plan.m = round_up(std::max<std::int64_t>(1, p.m), 8);
  plan.n = round_up(std::max<std::int64_t>(1, p.n), 8);
  const std::int64_t k = std::max<std::int64_t>(1, p.k), slab = 4 * plan.m * plan.n;
  plan.pieces = std::max(ceil_div(k, longest_piece(k)), std::min(k / 64, kCachedSlabs / slab));
  plan.piece = round_up(ceil_div(k, plan.pieces), 8);
  plan.pieces = ceil_div(k, plan.piece);
  plan.k = plan.pieces * plan.piece;

  plan.bands = ceil_div((plan.pieces + 1) * slab, kMaxSlabs);
  plan.band = std::min(plan.m, round_up(ceil_div(plan.m, plan.bands), 128));
  plan.bands = ceil_div(plan.m, plan.band);

  std::size_t next = 256;  // the two largest values
  const auto place = [&next](std::int64_t bytes) {
    const std::size_t here = next;
    next += static_cast<std::size_t>(round_up(bytes, 256));
    return here;
  };
  plan.a = place(4 * plan.m * plan.k);
  plan.b = place(4 * plan.n * plan.k);
  plan.slabs = place(4 * (plan.pieces + 1) * plan.band * plan.n);
  plan.library_bytes = std::min<std::int64_t>(std::int64_t{32} << 20, 32 * 4 * plan.band * plan.n);
  plan.library = place(plan.library_bytes);
  plan.workspace = next;
  return plan;
}

// Below these sizes three tf32 products, or the library's ordinary multiply-adds, take no longer.
Verdict products::large_enough_to_split(const Product& p) {
  constexpr std::int64_t kLeastSide = 96, kLeastDepth = 384;
  constexpr double kLeastProducts = 2e8;
  if (std::min(p.m, p.n) < kLeastSide || p.k < kLeastDepth)
    return refuse(fmt::format("splitting is faster only from {0} x {0} outputs and sums of {1} terms",
                              kLeastSide, kLeastDepth));
  if (double(p.m) * double(p.n) * double(p.k) < kLeastProducts)
    return refuse("too small: its launches take longer than the product");
  return accept();
}

namespace {

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (!target.device.cublaslt) return refuse("cuBLASLt could not be loaded");
  if (target.device.compute_capability < 70) return refuse("no tensor cores: it would not be faster");
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  if (const Verdict verdict = products::large_enough_to_split(p); !verdict.ok) return verdict;
  // The copies take as much again as the factors, the slabs up to 300 MiB.
  if (target.device.memory_bytes != 0 && plan_fp16x3(p).workspace > target.device.memory_bytes / 8)
    return refuse("its copies would take more than an eighth of the device's memory");
  return accept();
}

std::size_t workspace(const Product& p, const Target&) { return plan_fp16x3(p).workspace; }

Work work(const Product& p, const Target&, Work least) {
  const Fp16x3Plan plan = plan_fp16x3(p);
  const double factors = 4 * double(plan.m + plan.n) * double(plan.k),
               slabs = 4 * double(plan.pieces + 1) * double(plan.m) * double(plan.n);
  least.with("gpu.fp16x3", Unit::fp16, {plan.m, plan.n, plan.k});
  least.main().count = static_cast<int>(plan.bands);
  // Factors are read twice before, written in parts, and read again; slabs of sums are written and read.
  least.add_pass(3 * factors, 3);
  least.add_pass(2 * slabs, 2 * static_cast<int>(plan.bands));
  return least;
}

#ifdef HEADROOM_HAS_CUDA
// The two products of one band of rows.
struct Band {
  cuda::GemmPlan correction, pieces;
};
Band band_of(const Product& p, const Fp16x3Plan& plan, const PartsCopy& a, const PartsCopy& b,
             std::int64_t rows) {
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

Launcher prepare(const Product& product, const LaunchContext&) {
  const Fp16x3Plan plan = plan_fp16x3(product);
  const PartsCopy a = copy_of(!product.trans_a, plan.m, plan.k), b = copy_of(product.trans_b, plan.n, plan.k);
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

#endif

}  // namespace

ProductKernel product_fp16x3() {
  return {.name = "cuda:fp16x3",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
