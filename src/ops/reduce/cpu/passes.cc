// Sums, means and maxima in passes of vectors; integers, rare enough, in plain loops that the compiler
// vectorizes. The gradient of a maximum counts its ties by the same passes.
#include <algorithm>

#include "ops/cpu/broadcast_map.h"
#include "ops/expect.h"
#include "ops/reduce/cpu/run_passes.h"

namespace headroom {
namespace reduce_cpu_passes_cc {
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

Launcher prepare_integers(const Problem& p) {
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

std::size_t workspace_integers(const Problem& p) {
  const std::vector<Pass> passes = passes_of(reduce_problem(p));
  std::int64_t elements = 0;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) elements += passes[i].results();
  return static_cast<std::size_t>(elements) * size_of(p.outputs[0].dtype);
}

Launcher prepare_floats(const Problem& p) {
  const ReduceProblem r = reduce_problem(p);
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    const T scale = p.op == "reduce_mean" ? T{1} / static_cast<T>(r.count) : T{1};
    return
        [passes = passes_of(r), n = r.input.numel(), scale, max = p.op == "reduce_max"](const LaunchArgs& a) {
          (max ? run_passes<Max, T> : run_passes<Sum, T>)(passes, n, a.in<T>(0), scale, a.out<T>(0),
                                                          static_cast<T*>(a.workspace));
        };
  });
}

// The ties are marked in dx and counted; each then gets its share.
Launcher prepare_max_grad(const Problem& p) {
  const ReduceProblem r = reduce_problem(p);
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    using V = simd::Vec<T>;
    return [passes = passes_of(r), n = r.input.numel(), results = r.kept.numel(),
            loop = broadcast_loop(r.input, {r.input, r.kept})](const LaunchArgs& a) {
      T* dx = a.out<T>(0);
      T* shares = static_cast<T*>(a.workspace);
      broadcast_map2(loop, a.in<T>(1), a.in<T>(2), dx,
                     [](V x, V y) { return x == y ? simd::broadcast<T>(1) : simd::broadcast<T>(0); });
      run_passes<Sum, T>(passes, n, dx, T{1}, shares, shares + results);
      simd::map2(results, a.in<T>(0), shares, shares, [](V dy, V ties) { return dy / ties; });
      broadcast_map2(loop, dx, shares, dx, [](V marked, V share) { return marked * share; });
    };
  });
}

std::size_t workspace(const Problem& p, const Target&) {
  if (!is_float(p.outputs[0].dtype)) return workspace_integers(p);
  const ReduceProblem r = reduce_problem(p);
  const std::int64_t shares = p.op == "reduce_max_grad" ? r.kept.numel() : 0;
  return static_cast<std::size_t>(shares + scratch_of(passes_of(r))) * size_of(p.outputs[0].dtype);
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  if (p.op == "reduce_max_grad") return prepare_max_grad(p);
  return is_float(p.outputs[0].dtype) ? prepare_floats(p) : prepare_integers(p);
}

}  // namespace
}  // namespace reduce_cpu_passes_cc

Kernel reduce_cpu_passes() {
  using namespace reduce_cpu_passes_cc;
  return {.name = "cpu:passes", .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
