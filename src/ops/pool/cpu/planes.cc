// Gradients of any window. Windows overlap, so a plane is the smallest piece that one thread can own; within
// it the windows of one output row advance together, tap by tap, in loops that vectorise.
#include <algorithm>
#include <limits>

#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace pool_cpu_planes_cc {
namespace {

constexpr std::int64_t kBlock = 256;  // windows taken together: their state stays in the first-level cache

// Clears each plane of dx and calls body(plane, output row) for its rows.
template <class T, class Body>
void each_row(const PoolProblem& p, T* dx, Body&& body) {
  const std::int64_t work = p.input_plane() + p.output_plane() * p.window.kernel.h * p.window.kernel.w;
  parallel_for(p.planes, kElementwiseGrain / work + 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::fill_n(dx + plane * p.input_plane(), p.input_plane(), T{0});
      for (std::int64_t i = 0; i < p.window.output.h; ++i) body(plane, i);
    }
  });
}

struct Range {
  std::int64_t begin, end;
};

// Windows of [begin, end) whose tap k falls on the input; it reads column j * stride + offset.
Range windows_inside(const Window2d& w, std::int64_t offset, std::int64_t begin, std::int64_t end) {
  const std::int64_t s = w.stride.w;
  const std::int64_t first = offset < 0 ? (-offset + s - 1) / s : 0;
  const std::int64_t last = w.input.w > offset ? (w.input.w - offset + s - 1) / s : 0;
  return {std::max(first, begin), std::min(last, end)};
}

// One tap of `n` neighbouring windows, `stride` apart; Fixed: the stride where the compiler may know it, else
// 0. Bitwise operators, because a branch taken on data would stall more than the work it skips.
template <int Fixed, class T, class Index>
void raise_maxima(std::int64_t n, std::int64_t stride, const T* x, Index at, T* most, Index* best) {
  const auto step = static_cast<Index>(Fixed > 0 ? Fixed : stride);
#pragma omp simd
  for (Index j = 0; j < static_cast<Index>(n); ++j) {
    const T next = x[j * step], now = most[j];
    const bool replace = bool(best[j] < 0) | (!bool(next <= now) & bool(now == now));
    most[j] = replace ? next : now;
    best[j] = replace ? at + j * step : best[j];
  }
}

// Indices within the plane of the maxima of up to kBlock windows from `begin` on; -1: nothing but padding.
template <class T, class Index>
void argmax_block(const Window2d& w, const Taps& rows, const T* x, std::int64_t begin, std::int64_t end,
                  Index* best) {
  T most[kBlock];
  std::fill_n(best, end - begin, Index{-1});
  std::fill_n(most, end - begin, -std::numeric_limits<T>::infinity());
  const auto raise = w.stride.w == 1   ? raise_maxima<1, T, Index>
                     : w.stride.w == 2 ? raise_maxima<2, T, Index>
                                       : raise_maxima<0, T, Index>;
  for (std::int64_t r = 0; r < rows.count; ++r)
    for (std::int64_t k = 0; k < w.kernel.w; ++k) {
      const std::int64_t offset = k * w.dilation.w - w.pad.w;
      const auto [from, to] = windows_inside(w, offset, begin, end);
      const std::int64_t at = (rows.begin + r * w.dilation.h) * w.input.w + offset + from * w.stride.w;
      if (from < to)
        raise(to - from, w.stride.w, x + at, static_cast<Index>(at), most + (from - begin),
              best + (from - begin));
    }
}

// Adds each window's share to the columns it covers, once per row of the window.
template <class T>
void spread_block(const Window2d& w, const Taps& rows, const T* shares, std::int64_t begin, std::int64_t end,
                  T* dx) {
  for (std::int64_t r = 0; r < rows.count; ++r)
    for (std::int64_t k = 0; k < w.kernel.w; ++k) {
      const std::int64_t offset = k * w.dilation.w - w.pad.w;
      const auto [from, to] = windows_inside(w, offset, begin, end);
      T* row = dx + (rows.begin + r * w.dilation.h) * w.input.w + offset;
#pragma omp simd
      for (std::int64_t j = from; j < to; ++j) row[j * w.stride.w] += shares[j - begin];
    }
}

Verdict accepts(const Problem& problem, const Target& target) {
  if (pool_problem(problem).input_plane() > std::numeric_limits<std::int32_t>::max())
    return refuse("a plane of more than 2^31 elements");
  return accepts_cpu_floats(problem, target);
}

Launcher prepare_max(const Problem& problem) {
  const PoolProblem p = pool_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, taps = tap_tables(p)](const LaunchArgs& a) {
      const std::int64_t n = p.window.output.w;
      each_row(p, a.out<T>(0), [&](std::int64_t plane, std::int64_t i) {
        const T* x = a.in<T>(1) + plane * p.input_plane();
        const T* dy = a.in<T>(0) + plane * p.output_plane() + i * n;
        T* dx = a.out<T>(0) + plane * p.input_plane();
        simd::IntOf<T> best[kBlock];
        for (std::int64_t j = 0; j < n; j += kBlock) {
          const std::int64_t end = std::min(j + kBlock, n);
          argmax_block(p.window, taps.rows[static_cast<std::size_t>(i)], x, j, end, best);
          for (std::int64_t k = j; k < end; ++k)
            if (best[k - j] >= 0) dx[best[k - j]] += dy[k];
        }
        if (p.slope != Activation::none && i + 1 == p.window.output.h)
          apply_slope(p.slope, p.input_plane(), dx, x, dx);
      });
    };
  });
}

Launcher prepare_mean(const Problem& problem) {
  const PoolProblem p = pool_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const TapTables taps = tap_tables(p);
    std::vector<T> columns;
    for (const Taps& t : taps.columns) columns.push_back(static_cast<T>(t.shared));
    return [p, taps, columns](const LaunchArgs& a) {
      const std::int64_t n = p.window.output.w;
      each_row(p, a.out<T>(0), [&](std::int64_t plane, std::int64_t i) {
        const Taps& rows = taps.rows[static_cast<std::size_t>(i)];
        const T* dy = a.in<T>(0) + plane * p.output_plane() + i * n;
        T shares[kBlock];
        for (std::int64_t j = 0; j < n; j += kBlock) {
          const std::int64_t end = std::min(j + kBlock, n);
          for (std::int64_t k = j; k < end; ++k)
            shares[k - j] =
                dy[k] / std::max(static_cast<T>(rows.shared) * columns[static_cast<std::size_t>(k)], T{1});
          spread_block(p.window, rows, shares, j, end, a.out<T>(0) + plane * p.input_plane());
        }
      });
    };
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return problem.op == "max_pool_grad" ? prepare_max(problem) : prepare_mean(problem);
}

}  // namespace
}  // namespace pool_cpu_planes_cc

Kernel pool_cpu_planes() {
  using namespace pool_cpu_planes_cc;
  return {.name = "cpu:planes", .accepts = accepts, .prepare = prepare};
}

}  // namespace headroom
