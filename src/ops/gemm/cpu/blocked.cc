// "cpu:blocked": the same loops over blocks of 64 x 64, on one thread. A block of a and one of b are copied
// side by side, k along the rows, and stay in the first-level cache while 64^3 products use them.
#include <algorithm>

#include "ops/gemm/cpu/rungs.h"

namespace headroom {
namespace gemm_cpu_blocked_cc {
namespace {

constexpr std::int64_t kSide = 64;

// Lines [0, lines) of an operand, `depth` terms each, to rows of kSide.
template <class T>
void copy_block(const T* from, std::int64_t lines, std::int64_t depth, std::int64_t line_step,
                std::int64_t k_step, T* to) {
  for (std::int64_t i = 0; i < lines; ++i)
    for (std::int64_t k = 0; k < depth; ++k) to[i * kSide + k] = from[i * line_step + k * k_step];
}

template <class T>
void add_products(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* left, const T* right,
                  T* sums) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      T sum = sums[i * kSide + j];
      for (std::int64_t k = 0; k < depth; ++k) sum += left[i * kSide + k] * right[j * kSide + k];
      sums[i * kSide + j] = sum;
    }
}

template <class T>
void blocks(const GemmProblem& p, const T* a, const T* b, const T* add, T* out) {
  T left[kSide * kSide], right[kSide * kSide], sums[kSide * kSide];
  for (std::int64_t i0 = 0; i0 < p.m; i0 += kSide)
    for (std::int64_t j0 = 0; j0 < p.n; j0 += kSide) {
      const std::int64_t rows = std::min(kSide, p.m - i0), columns = std::min(kSide, p.n - j0);
      std::fill(std::begin(sums), std::end(sums), T{0});
      for (std::int64_t k0 = 0; k0 < p.k; k0 += kSide) {
        const std::int64_t depth = std::min(kSide, p.k - k0);
        copy_block(a + i0 * p.a_row() + k0 * p.a_k(), rows, depth, p.a_row(), p.a_k(), left);
        copy_block(b + j0 * p.b_column() + k0 * p.b_k(), columns, depth, p.b_column(), p.b_k(), right);
        add_products(rows, columns, depth, left, right, sums);
      }
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const std::int64_t at = (i0 + i) * p.n + j0 + j;
          out[at] = gemm_scaled(p, sums[i * kSide + j], add, at);
        }
    }
}

// Still two loads for each product, now from the first-level cache, and the copies.
Work work(const Problem& problem, const Target& target) {
  return gemm_cpu_work(problem, target, "cpu.gemm.blocked", 2 + 2.0 / kSide);
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      blocks(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0));
    };
  });
}

}  // namespace
}  // namespace gemm_cpu_blocked_cc

Kernel gemm_cpu_blocked() {
  using namespace gemm_cpu_blocked_cc;
  return {.name = "cpu:blocked", .work = work, .prepare = prepare};
}

}  // namespace headroom
