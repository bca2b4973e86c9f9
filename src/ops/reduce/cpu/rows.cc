// Expansions: along the innermost axis a row is either copied or filled with one element.
#include <algorithm>

#include "ops/cpu/broadcast_map.h"
#include "ops/reduce/reduce.h"
#include "ops/stored.h"

namespace headroom {
namespace reduce_cpu_rows_cc {
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

Launcher prepare(const Problem& p, const LaunchContext&) {
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

}  // namespace
}  // namespace reduce_cpu_rows_cc

Kernel expand_cpu_rows() {
  using namespace reduce_cpu_rows_cc;
  return {.name = "cpu:rows", .prepare = prepare};
}

}  // namespace headroom
