// Any window, in two passes that both run along rows: fold the window's rows into one buffered row, padding
// included, then fold kernel.w shifted copies of that. k + k operations per output instead of k * k, and no
// test for padding in either loop.
#include <algorithm>
#include <limits>

#include "ops/cpu/lanes.h"
#include "ops/cpu/parallel.h"
#include "ops/pool/cpu/pairs.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace pool_cpu_rows_cc {
namespace {

constexpr std::int64_t kBuffer = 2048;  // elements: 16 KiB of fp64, half of a first-level cache

template <class T>
struct Max {
  static constexpr T kIdentity = -std::numeric_limits<T>::infinity();
  static T combine(T best, T next) { return exceeds(next, best) ? next : best; }
  static simd::Vec<T> combine(simd::Vec<T> best, simd::Vec<T> next) { return simd::max_or_nan(best, next); }
};

template <class T>
struct Sum {
  static constexpr T kIdentity = 0;
  static T combine(T a, T b) { return a + b; }
  static simd::Vec<T> combine(simd::Vec<T> a, simd::Vec<T> b) { return a + b; }
};

template <class Fold, class T>
void fold_rows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t n, T* out) {
  simd::each_register<T>(n, [&](auto lanes, std::int64_t i) {
    simd::Vec<T> sum = simd::broadcast<T>(Fold::kIdentity);
    for (std::int64_t r = 0; r < rows; ++r) sum = Fold::combine(sum, lanes.load(x + r * stride + i));
    lanes.store(out + i, sum);
  });
}

// tap(k): the numbers of tap k, one for each output, and a register's worth more.
template <class Fold, class T, class Tap>
void fold_taps(std::int64_t taps, std::int64_t n, Tap&& tap, T* y) {
  simd::each_register<T>(n, [&](auto lanes, std::int64_t j) {
    simd::Vec<T> sum = simd::load(tap(0) + j);
    for (std::int64_t k = 1; k < taps; ++k) sum = Fold::combine(sum, simd::load(tap(k) + j));
    lanes.store(y + j, sum);
  });
}

// A row of `length` elements, with room for a register more.
template <class Fold, class T>
void fold_columns(const Window2d& w, T* row, std::int64_t length, std::int64_t n, T* y) {
  if (w.stride.w == 1)
    return fold_taps<Fold>(
        w.kernel.w, n, [&](std::int64_t k) { return row + k * w.dilation.w; }, y);
  if (w.stride.w == 2) {  // even and odd columns apart, so that neighbours are read together
    T half[2][kBuffer / 2 + simd::kLanes<T>];
    row[length] = Fold::kIdentity;
    pairs::split_row<T, simd::kLanes<T>>((length + 1) / 2, row, half[0], half[1]);
    const auto tap = [&](std::int64_t k) { return half[k * w.dilation.w % 2] + k * w.dilation.w / 2; };
    return fold_taps<Fold>(w.kernel.w, n, tap, y);
  }
  std::fill_n(y, n, Fold::kIdentity);
  for (std::int64_t k = 0; k < w.kernel.w; ++k, row += w.dilation.w)
    for (std::int64_t j = 0; j < n; ++j) y[j] = Fold::combine(y[j], row[j * w.stride.w]);
}

std::int64_t reach(const Window2d& w) { return (w.kernel.w - 1) * w.dilation.w + 1; }

// Outputs [begin, end) of one output row, whose windows span no more than the buffer holds.
template <class Fold, class T>
void pool_segment(const Window2d& w, const Taps& rows, const T* plane, std::int64_t begin, std::int64_t end,
                  T* y) {
  T buffer[kBuffer + simd::kLanes<T>];
  const std::int64_t from = begin * w.stride.w - w.pad.w;
  const std::int64_t to = (end - 1) * w.stride.w - w.pad.w + reach(w);
  const std::int64_t left = std::clamp<std::int64_t>(0, from, to);
  const std::int64_t right = std::clamp<std::int64_t>(w.input.w, left, to);
  std::fill_n(buffer, left - from, Fold::kIdentity);
  if (right > left)
    fold_rows<Fold>(plane + rows.begin * w.input.w + left, w.dilation.h * w.input.w, rows.count, right - left,
                    buffer + (left - from));
  std::fill_n(buffer + (right - from), to - right, Fold::kIdentity);
  fold_columns<Fold>(w, buffer, to - from, end - begin, y + begin);
}

// Calls finish(i, output row) after each row is pooled.
template <class Fold, class T, class Finish>
void pool_rows(const PoolProblem& p, const TapTables& taps, const T* x, T* y, Finish&& finish) {
  const Window2d& w = p.window;
  const std::int64_t segment = (kBuffer - reach(w)) / w.stride.w + 1;
  const std::int64_t row_work = (w.kernel.h + w.kernel.w) * w.output.w;
  parallel_for(p.planes * w.output.h, kElementwiseGrain / row_work + 1,
               [&](std::int64_t first, std::int64_t last, int) {
                 for (std::int64_t r = first; r < last; ++r) {
                   const std::int64_t i = r % w.output.h;
                   const T* plane = x + r / w.output.h * p.input_plane();
                   T* out = y + r * w.output.w;
                   for (std::int64_t j = 0; j < w.output.w; j += segment)
                     pool_segment<Fold>(w, taps.rows[static_cast<std::size_t>(i)], plane, j,
                                        std::min(j + segment, w.output.w), out);
                   finish(i, out);
                 }
               });
}

Verdict accepts(const Problem& problem, const Target& target) {
  if (reach(pool_problem(problem).window) > kBuffer)
    return refuse(fmt::format("a window of more than {} columns", kBuffer));
  return accepts_cpu_floats(problem, target);
}

Launcher prepare_max(const Problem& problem) {
  const PoolProblem p = pool_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, taps = tap_tables(p)](const LaunchArgs& a) {
      pool_rows<Max<T>>(p, taps, a.in<T>(0), a.out<T>(0), [](std::int64_t, T*) {});
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
      pool_rows<Sum<T>>(p, taps, a.in<T>(0), a.out<T>(0), [&](std::int64_t i, T* y) {
        const auto rows = static_cast<T>(taps.rows[static_cast<std::size_t>(i)].shared);
        for (std::size_t j = 0; j < columns.size(); ++j) y[j] /= std::max(rows * columns[j], T{1});
      });
    };
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return problem.op == "max_pool" ? prepare_max(problem) : prepare_mean(problem);
}

}  // namespace
}  // namespace pool_cpu_rows_cc

Kernel pool_cpu_rows() {
  using namespace pool_cpu_rows_cc;
  return {.name = "cpu:rows", .accepts = accepts, .prepare = prepare};
}

}  // namespace headroom
