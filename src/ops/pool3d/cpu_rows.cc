// Any window. The windows of one output row advance together, tap by tap, in loops that vectorise. Backwards,
// windows overlap: a volume is the smallest piece that one thread can own.
#include <algorithm>
#include <limits>

#include "ops/conv2d/cpu/unroll.h"
#include "ops/cpu/parallel.h"
#include "ops/pool/pool.h"
#include "ops/pool3d/pool3d.h"

namespace headroom {
namespace pool3d_cpu_rows_cc {
namespace {

constexpr std::int64_t kBlock = 256;  // windows taken together: their state stays in the first-level cache

// The rows of the input that one output row reads.
struct OutputRow {
  PoolTaps depth, rows;
};

OutputRow output_row(const Pool3d& p, std::int64_t r) {
  const Window3d& w = p.window;
  return {pool_taps(w.depth, r / w.rows.output, p.count_include_pad),
          pool_taps(w.rows, r % w.rows.output, p.count_include_pad)};
}

// Calls body(windows, places) for each tap of the windows [begin, end) of a row: window j of `windows` reads
// places + j * stride of the volume. In the order of places.
template <class Body>
void each_tap_of_row(const Window3d& w, const OutputRow& row, std::int64_t begin, std::int64_t end,
                     Body&& body) {
  for (std::int64_t d = 0; d < row.depth.count; ++d)
    for (std::int64_t h = 0; h < row.rows.count; ++h)
      for (std::int64_t k = 0; k < w.columns.kernel; ++k) {
        const std::int64_t offset = k * w.columns.dilation - w.columns.pad;
        const ColumnRange inside =
            columns_inside(w.columns.output, w.columns.input, w.columns.stride, offset);
        const ColumnRange windows{std::max(inside.begin, begin), std::min(inside.end, end)};
        const std::int64_t slice = row.depth.begin + d * w.depth.dilation,
                           line = row.rows.begin + h * w.rows.dilation;
        if (windows.begin < windows.end)
          body(windows, (slice * w.rows.input + line) * w.columns.input + offset);
      }
}

// One tap of `n` neighbouring windows; Fixed: the stride where the compiler may know it, else 0.
template <int Fixed, class T>
void fold_max(std::int64_t n, std::int64_t stride, const T* x, T* y) {
  const std::int64_t step = Fixed > 0 ? Fixed : stride;
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) y[j] = exceeds(x[j * step], y[j]) ? x[j * step] : y[j];
}

template <int Fixed, class T>
void fold_sum(std::int64_t n, std::int64_t stride, const T* x, T* y) {
  const std::int64_t step = Fixed > 0 ? Fixed : stride;
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) y[j] += x[j * step];
}

template <class T>
using Fold = void (*)(std::int64_t, std::int64_t, const T*, T*);

template <class T>
Fold<T> fold_for(bool max, std::int64_t stride) {
  if (max) return stride == 1 ? fold_max<1, T> : stride == 2 ? fold_max<2, T> : fold_max<0, T>;
  return stride == 1 ? fold_sum<1, T> : stride == 2 ? fold_sum<2, T> : fold_sum<0, T>;
}

template <class T>
std::vector<T> column_divisors(const Pool3d& p) {
  std::vector<T> list;
  for (std::int64_t j = 0; j < p.window.columns.output; ++j)
    list.push_back(static_cast<T>(pool_taps(p.window.columns, j, p.count_include_pad).shared));
  return list;
}

template <class T>
Launcher prepare_forward(const Pool3d& p, bool max) {
  const Window3d& w = p.window;
  return [p, max, columns = column_divisors<T>(p),
          fold = fold_for<T>(max, w.columns.stride)](const LaunchArgs& a) {
    const Window3d& win = p.window;
    const std::int64_t width = win.columns.output, rows = win.depth.output * win.rows.output;
    parallel_for(p.volumes * rows, kElementwiseGrain / (win.taps() * width) + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const OutputRow row = output_row(p, r % rows);
                     const T* x = a.in<T>(0) + r / rows * win.inputs();
                     T* y = a.out<T>(0) + r * width;
                     std::fill_n(y, width, max ? -std::numeric_limits<T>::infinity() : T{0});
                     each_tap_of_row(win, row, 0, width, [&](ColumnRange windows, std::int64_t at) {
                       fold(windows.end - windows.begin, win.columns.stride,
                            x + at + windows.begin * win.columns.stride, y + windows.begin);
                     });
                     if (max) continue;
                     const auto shared = static_cast<T>(row.depth.shared * row.rows.shared);
                     for (std::int64_t j = 0; j < width; ++j)
                       y[j] /= std::max(shared * columns[static_cast<std::size_t>(j)], T{1});
                   }
                 });
  };
}

// Calls body(volume, row of a volume's output, begin, end) for blocks of windows, and clears each volume of
// dx first.
template <class T, class Body>
void each_block(const Pool3d& p, T* dx, Body&& body) {
  const Window3d& w = p.window;
  parallel_for(p.volumes, kElementwiseGrain / (w.inputs() + w.outputs() * w.taps()) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 std::fill(dx + begin * w.inputs(), dx + end * w.inputs(), T{0});
                 for (std::int64_t v = begin; v < end; ++v)
                   for (std::int64_t r = 0; r < w.depth.output * w.rows.output; ++r)
                     for (std::int64_t j = 0; j < w.columns.output; j += kBlock)
                       body(v, r, j, std::min(j + kBlock, w.columns.output));
               });
}

template <class T>
Launcher prepare_max_grad(const Pool3d& p) {
  return [p](const LaunchArgs& a) {
    const Window3d& w = p.window;
    each_block(p, a.out<T>(0), [&](std::int64_t v, std::int64_t r, std::int64_t begin, std::int64_t end) {
      const T* x = a.in<T>(1) + v * w.inputs();
      T most[kBlock];
      std::int64_t best[kBlock];
      std::fill_n(best, end - begin, -1);
      each_tap_of_row(w, output_row(p, r), begin, end, [&](ColumnRange windows, std::int64_t at) {
        for (std::int64_t j = windows.begin; j < windows.end; ++j) {
          const std::int64_t i = at + j * w.columns.stride;
          if (best[j - begin] >= 0 && !exceeds(x[i], most[j - begin])) continue;
          most[j - begin] = x[i], best[j - begin] = i;
        }
      });
      const T* dy = a.in<T>(0) + v * w.outputs() + r * w.columns.output;
      T* dx = a.out<T>(0) + v * w.inputs();
      for (std::int64_t j = begin; j < end; ++j)
        if (best[j - begin] >= 0) dx[best[j - begin]] += dy[j];
    });
  };
}

template <class T>
Launcher prepare_mean_grad(const Pool3d& p) {
  return [p, columns = column_divisors<T>(p)](const LaunchArgs& a) {
    const Window3d& w = p.window;
    each_block(p, a.out<T>(0), [&](std::int64_t v, std::int64_t r, std::int64_t begin, std::int64_t end) {
      const OutputRow row = output_row(p, r);
      const T* dy = a.in<T>(0) + v * w.outputs() + r * w.columns.output;
      const auto shared = static_cast<T>(row.depth.shared * row.rows.shared);
      T shares[kBlock];
      for (std::int64_t j = begin; j < end; ++j)
        shares[j - begin] = dy[j] / std::max(shared * columns[static_cast<std::size_t>(j)], T{1});
      T* dx = a.out<T>(0) + v * w.inputs();
      each_tap_of_row(w, row, begin, end, [&](ColumnRange windows, std::int64_t at) {
#pragma omp simd
        for (std::int64_t j = windows.begin; j < windows.end; ++j)
          dx[at + j * w.columns.stride] += shares[j - begin];
      });
    });
  };
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  const Pool3d p = parse_pool3d(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    if (problem.op == "max_pool3d_grad") return prepare_max_grad<T>(p);
    if (problem.op == "avg_pool3d_grad") return prepare_mean_grad<T>(p);
    return prepare_forward<T>(p, problem.op == "max_pool3d");
  });
}

}  // namespace
}  // namespace pool3d_cpu_rows_cc

Kernel pool3d_cpu_rows() {
  using namespace pool3d_cpu_rows_cc;
  return {.name = "cpu:rows", .prepare = prepare};
}

}  // namespace headroom
