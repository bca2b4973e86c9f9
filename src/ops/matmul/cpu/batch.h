#pragma once

// How CPU kernels share out the products of a batch.

#include "ops/cpu/parallel.h"
#include "ops/matmul/matmul.h"

namespace headroom {

// All matrices of a, one below the other, where one product does for the batch.
inline MatmulProblem folded_matmul(const Problem& problem) {
  MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  if (p.folds()) {
    p.m *= p.count();
    p.batch = Shape{};
  }
  return p;
}

// Products that a team shares among its members, each on one thread, rather than one after the other with the
// team inside: many of them, or ones too small for a team.
inline bool shares_batch(const MatmulProblem& p, std::int64_t threads) {
  constexpr double kTeamsWork =
      2e6;  // FLOPs; a team takes some 10 us to wake up, in which one thread does 1e5
  const double flops = 2.0 * double(p.m) * double(p.n) * double(p.k);
  return p.count() >= 4 * threads || (p.count() > 1 && flops < kTeamsWork);
}

// body(a, b, c, i) with the factors and the place of every product i.
template <class T, class Body>
void each_product(const MatmulProblem& p, const LaunchArgs& args, Body&& body) {
  auto products = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i)
      body(args.in<T>(0) + p.a[static_cast<std::size_t>(i)], args.in<T>(1) + p.b[static_cast<std::size_t>(i)],
           args.out<T>(0) + i * p.m * p.n, i);
  };
  if (shares_batch(p, team_limit()))
    parallel_for(p.count(), kElementwiseGrain / (p.m * p.n * p.k) + 1, products);
  else
    products(0, p.count(), 0);
}

}  // namespace headroom
