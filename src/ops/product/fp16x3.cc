// "cuda:fp16x3" as it is planned: exact fp32 by products of fp16 parts. What it does is told in
// ops/cuda/gemm_fp16x3.h.
#include <algorithm>
#include <cmath>

#include "ops/product/kernels.h"

namespace headroom {
namespace {

// Slabs of one band of rows. More would be no faster and, with large outputs, more memory than all the rest.
constexpr std::int64_t kMaxSlabs = std::int64_t{300} << 20;
// Slabs that stay in the second-level cache cost little, and pieces make up for few tiles.
constexpr std::int64_t kCachedSlabs = std::int64_t{16} << 20;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t unit) { return ceil_div(a, unit) * unit; }

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

// Half a dozen launches and every factor written anew: what they cost must be small beside the product. Below
// these sizes the library's ordinary multiply-adds take no longer, by count of bytes and of launches.
Verdict accepts_fp16x3(const Product& p, const Target& target) {
  constexpr std::int64_t kLeastSide = 96, kLeastDepth = 384;
  constexpr double kLeastProducts = 2e8;
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (!target.device.cublaslt) return refuse("cuBLASLt could not be loaded");
  if (target.device.compute_capability < 70) return refuse("no tensor cores: it would not be faster");
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  if (std::min(p.m, p.n) < kLeastSide || p.k < kLeastDepth)
    return refuse(fmt::format("splitting is faster only from {0} x {0} outputs and sums of {1} terms",
                              kLeastSide, kLeastDepth));
  if (double(p.m) * double(p.n) * double(p.k) < kLeastProducts)
    return refuse("too small: its launches take longer than the product");
  // The copies take as much again as the factors, the slabs up to 300 MiB.
  if (target.device.memory_bytes != 0 && plan_fp16x3(p).workspace > target.device.memory_bytes / 8)
    return refuse("its copies would take more than an eighth of the device's memory");
  return accept();
}

std::size_t fp16x3_workspace(const Product& p, const Target&) { return plan_fp16x3(p).workspace; }

Work fp16x3_work(const Product& p, const Target&, Work least) {
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

}  // namespace headroom
