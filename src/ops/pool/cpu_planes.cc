// Gradients of any window. Windows overlap, so a plane is the smallest piece that one thread can own.
#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace {

// Clears each plane of dx and calls body(row taps, column taps, dy of the output, plane) for its outputs.
template <class T, class Body>
void each_window(const PoolProblem& p, const TapTables& taps, const T* dy, T* dx, Body&& body) {
  const std::int64_t work = p.input_plane() + p.output_plane() * p.window.kernel.h * p.window.kernel.w;
  parallel_for(p.planes, kElementwiseGrain / work + 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* g = dy + plane * p.output_plane();
      std::fill_n(dx + plane * p.input_plane(), p.input_plane(), T{0});
      for (const Taps& rows : taps.rows)
        for (const Taps& columns : taps.columns) body(rows, columns, *g++, plane * p.input_plane());
    }
  });
}

template <class T>
std::int64_t argmax(const Window2d& w, const Taps& rows, const Taps& columns, const T* x) {
  std::int64_t best = rows.begin * w.input.w + columns.begin;
  T most = x[best];
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = (rows.begin + r * w.dilation.h) * w.input.w + columns.begin;
    for (std::int64_t c = 0; c < columns.count; ++c) {
      const T next = x[at + c * w.dilation.w];
      if (!exceeds(next, most)) continue;
      most = next;
      best = at + c * w.dilation.w;
    }
  }
  return best;
}

}  // namespace

Launcher max_pool_grad_planes(const Problem& problem, const Capabilities&) {
  const PoolProblem p = pool_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, taps = tap_tables(p)](const LaunchArgs& a) {
      const T* x = a.in<T>(1);
      T* dx = a.out<T>(0);
      each_window(p, taps, a.in<T>(0), dx,
                  [&](const Taps& rows, const Taps& columns, T dy, std::int64_t plane) {
                    if (rows.count == 0 || columns.count == 0) return;
                    dx[plane + argmax(p.window, rows, columns, x + plane)] += dy;
                  });
    };
  });
}

Launcher avg_pool_grad_planes(const Problem& problem, const Capabilities&) {
  const PoolProblem p = pool_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, taps = tap_tables(p)](const LaunchArgs& a) {
      const Window2d& w = p.window;
      T* dx = a.out<T>(0);
      each_window(p, taps, a.in<T>(0), dx,
                  [&](const Taps& rows, const Taps& columns, T dy, std::int64_t plane) {
                    const auto shared = std::max<std::int64_t>(rows.shared * columns.shared, 1);
                    const T share = dy / static_cast<T>(shared);
                    for (std::int64_t r = 0; r < rows.count; ++r) {
                      T* to = dx + plane + (rows.begin + r * w.dilation.h) * w.input.w + columns.begin;
                      for (std::int64_t c = 0; c < columns.count; ++c) to[c * w.dilation.w] += share;
                    }
                  });
    };
  });
}

}  // namespace headroom
