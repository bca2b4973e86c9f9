#pragma once

// What the CPU kernels of gemm share: how a sum reaches the output, and what their inner loops load.

#include <cstring>

#include "ops/cpu/parallel.h"
#include "ops/gemm/gemm.h"

namespace headroom {

// out[at] by the sum of its products.
template <class T>
inline T gemm_scaled(const GemmProblem& p, T sum, const T* add, std::int64_t at) {
  const T scaled = static_cast<T>(p.alpha) * sum;
  return p.adds() ? scaled + static_cast<T>(p.beta) * add[at] : scaled;
}

// The minimum work, and `loads` elements per multiply-add that the inner loops ask the caches for.
inline Work gemm_cpu_work(const Problem& problem, const Target& target, std::string_view family,
                          double loads) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with(family, ordinary_unit(problem.outputs[0].dtype), {p.m, p.n, p.k});
  work.main().l2_bytes =
      loads * double(p.m) * double(p.n) * double(p.k) * double(size_of(problem.outputs[0].dtype));
  return work;
}

// For products that add to what the output holds.
template <class T>
void gemm_copy_all(std::int64_t count, const T* from, T* to) {
  parallel_for(count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  });
}

inline Work gemm_in_place_work(const Problem& problem, const Target& target) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype), {p.m, p.n, p.k});
  if (p.adds()) work.add_bytes(2 * double(problem.outputs[0].bytes()));
  return work;
}

}  // namespace headroom
