// Sums and maxima of integers: rare enough for plain loops, which the compiler vectorizes.
#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/reduce/passes.h"

namespace headroom {
namespace {

template <class T>
T join(bool max, T a, T b) {
  using U = std::make_unsigned_t<T>;
  return max ? std::max(a, b) : static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}

template <bool max, class T>
void run_pass(const Pass& pass, const T* x, T* y) {
  const std::int64_t inner = pass.inner, slice = pass.length * inner;
  parallel_for(pass.outer, kElementwiseGrain / slice + 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t o = begin; o < end; ++o) {
      const T* from = x + o * slice;
      T* to = y + o * inner;
      std::copy_n(from, inner, to);
      for (std::int64_t k = 1; k < pass.length; ++k)
        for (std::int64_t i = 0; i < inner; ++i) to[i] = join(max, to[i], from[k * inner + i]);
    }
  });
}

}  // namespace

Launcher reduce_integers(const Problem& p, const LaunchContext&) {
  const ReduceProblem r = reduce_problem(p);
  return dispatch_labels(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [passes = passes_of(r), n = r.input.numel(), max = p.op == "reduce_max"](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* next = static_cast<T*>(a.workspace);
      if (passes.empty()) std::copy_n(x, n, a.out<T>(0));  // axes of one element
      for (std::size_t i = 0; i < passes.size(); ++i) {
        T* y = i + 1 == passes.size() ? a.out<T>(0) : next;
        (max ? run_pass<true, T> : run_pass<false, T>)(passes[i], x, y);
        x = y, next += passes[i].results();
      }
    };
  });
}

std::size_t reduce_integers_workspace(const Problem& p, const Target&) {
  const std::vector<Pass> passes = passes_of(reduce_problem(p));
  std::int64_t elements = 0;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) elements += passes[i].results();
  return static_cast<std::size_t>(elements) * size_of(p.outputs[0].dtype);
}

}  // namespace headroom
