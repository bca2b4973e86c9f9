#include "ops/cpu/broadcast_map.h"
#include "ops/reduce/passes.h"
#include "ops/stored.h"

namespace headroom {

Launcher reduce_passes(const Problem& p, const LaunchContext& context) {
  if (!is_float(p.outputs[0].dtype)) return reduce_integers(p, context);
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

std::size_t reduce_workspace(const Problem& p, const Target& target) {
  if (!is_float(p.outputs[0].dtype)) return reduce_integers_workspace(p, target);
  return static_cast<std::size_t>(scratch_of(passes_of(reduce_problem(p)))) * size_of(p.outputs[0].dtype);
}

// The ties are marked in dx and counted; each then gets its share.
Launcher reduce_max_grad_passes(const Problem& p, const LaunchContext&) {
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

std::size_t reduce_max_grad_workspace(const Problem& p, const Target&) {
  const ReduceProblem r = reduce_problem(p);
  return static_cast<std::size_t>(r.kept.numel() + scratch_of(passes_of(r))) * size_of(p.outputs[0].dtype);
}

namespace {

// Elements that are not numbers to compute with: moved as they are.
Launcher stretch_rows(const Problem& p) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape})](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      const bool moves = loop.inner_step()[0] != 0;
      parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
        loop.each_row(begin, end, [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
          if (moves)
            std::copy_n(x + offset[0], n, y + at);
          else
            std::fill_n(y + at, n, x[offset[0]]);
        });
      });
    };
  });
}

}  // namespace

Launcher expand_rows(const Problem& p, const LaunchContext&) {
  if (!is_float(p.outputs[0].dtype)) return stretch_rows(p);
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    using V = simd::Vec<T>;
    return [loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape}),
            scale = static_cast<T>(p.attrs.real("scale", 1))](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      const bool moves = loop.inner_step()[0] != 0;
      parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
        loop.each_row(begin, end, [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
          const T* from = x + offset[0];
          if (moves)
            simd::map(n, from, y + at, [=](V v) { return v * scale; });
          else
            std::fill_n(y + at, n, *from * scale);
        });
      });
    };
  });
}

}  // namespace headroom
