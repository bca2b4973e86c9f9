// Blocks of scores that stay in the second-level cache: products by the BLAS library, exponentials between
// them. A head's sums never leave its thread, so the bits do not depend on how many there are.
#include <algorithm>
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/reduce.h"
#include "ops/cpu/vmath.h"

namespace headroom {
namespace attention_cpu_blocks_cc {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 256;  // of a block of scores
constexpr std::int64_t kScratch = 2 * kRows * kColumns;

// What both directions know of one head.
template <class T>
struct Head {
  const T *q, *k, *v;
  std::int64_t step;  // from one time to the next
};

template <class T>
Head<T> head_of(const AttentionProblem& p, const T* qkv, std::int64_t index) {
  const std::int64_t b = index / p.heads, h = index % p.heads;
  const T* at = qkv + b * p.time * p.qkv_row() + h * p.width;
  return {at, at + p.row(), at + 2 * p.row(), p.qkv_row()};
}

std::int64_t row_offset(const AttentionProblem& p, std::int64_t index) {
  return index / p.heads * p.time * p.row() + index % p.heads * p.width;
}

// Keys that row t sees of a block of `columns` that begins at u.
std::int64_t seen(const AttentionProblem& p, std::int64_t t, std::int64_t u, std::int64_t columns) {
  return p.causal ? std::clamp<std::int64_t>(t + 1 - u, 0, columns) : columns;
}

template <class T>
T largest(std::int64_t n, const T* x) {
  T most = x[0];
  std::int64_t i = 0;
  if (n >= simd::kLanes<T>) {
    simd::Vec<T> m = simd::load(x);
    for (; i + simd::kLanes<T> <= n; i += simd::kLanes<T>) m = simd::max_or_nan(m, simd::load(x + i));
    most = m[0];
    for (int k = 1; k < simd::kLanes<T>; ++k) most = m[k] > most || m[k] != m[k] ? m[k] : most;
  }
  for (; i < n; ++i) most = x[i] > most || x[i] != x[i] ? x[i] : most;
  return most;
}

// exp(x - shift), zeros behind the first n.
template <class T>
void exp_row(std::int64_t n, std::int64_t columns, T shift, T* x) {
  using simd::Vec;
  simd::map(n, x, x, [=](Vec<T> v) { return simd::exp<T>(v - shift); });
  std::fill(x + n, x + columns, T{0});
}

// One block of rows: the running maximum and sum of each, and its result, which is scaled whenever a later
// block of keys raises the maximum.
template <class T>
void forward_rows(const AttentionProblem& p, const Head<T>& in, std::int64_t first, T* y, T* lse, T* s) {
  const std::int64_t rows = std::min(kRows, p.time - first), end = p.causal ? first + rows : p.time;
  const T scale = static_cast<T>(p.scale);
  T most[kRows], sum[kRows];
  for (std::int64_t u = 0; u < end; u += kColumns) {
    const std::int64_t columns = std::min(kColumns, end - u);
    gemm(false, true, rows, columns, p.width, scale, in.q + first * in.step, in.step, in.k + u * in.step,
         in.step, T{0}, s, columns);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t n = seen(p, first + r, u, columns);
      T* row = s + r * columns;
      if (n == 0) {
        std::fill(row, row + columns, T{0});
        continue;
      }
      const T top = largest(n, row);
      const bool fresh = u == 0;
      const T now = fresh ? top : std::max(most[r], top);
      exp_row(n, columns, now, row);
      const T keep = fresh ? T{0} : std::exp(most[r] - now);
      sum[r] = (fresh ? T{0} : sum[r] * keep) + simd::sum(n, row);
      most[r] = now;
      if (!fresh && keep != T{1})
        for (std::int64_t d = 0; d < p.width; ++d) y[r * p.row() + d] *= keep;
    }
    gemm(false, false, rows, p.width, columns, T{1}, s, columns, in.v + u * in.step, in.step,
         u == 0 ? T{0} : T{1}, y, p.row());
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const T share = T{1} / sum[r];
    for (std::int64_t d = 0; d < p.width; ++d) y[r * p.row() + d] *= share;
    lse[r] = most[r] + std::log(sum[r]);
  }
}

// Scores and their gradients, of wide heads in runs of columns: the library adds up a row in one long sum,
// which rounds too much for the gradient, where two such sums are taken from each other.
template <class T>
void row_products(std::int64_t rows, std::int64_t columns, std::int64_t width, T scale, const T* a,
                  std::int64_t a_step, const T* b, std::int64_t b_step, T* to) {
  constexpr std::int64_t kRun = 64;
  for (std::int64_t d = 0; d < width; d += kRun)
    gemm(false, true, rows, columns, std::min(kRun, width - d), scale, a + d, a_step, b + d, b_step,
         d == 0 ? T{0} : T{1}, to, columns);
}

template <class T>
struct Gradient {
  const T *dy, *y, *lse;
  T *dq, *dk, *dv;
  T *p, *ds;  // scratch: a block each
};

template <class T>
void backward_block(const AttentionProblem& a, const Head<T>& in, const Gradient<T>& g, const T* along,
                    std::int64_t t, std::int64_t u) {
  using simd::Vec;
  const std::int64_t rows = std::min(kRows, a.time - t),
                     columns = std::min(kColumns, (a.causal ? t + rows : a.time) - u), row = a.row();
  const T scale = static_cast<T>(a.scale);
  const T *q = in.q + t * in.step, *k = in.k + u * in.step, *v = in.v + u * in.step, *dy = g.dy + t * row;
  row_products(rows, columns, a.width, scale, q, in.step, k, in.step, g.p);
  row_products(rows, columns, a.width, T{1}, dy, row, v, in.step, g.ds);
  for (std::int64_t r = 0; r < rows; ++r) {
    T *p = g.p + r * columns, *ds = g.ds + r * columns;
    const std::int64_t n = seen(a, t + r, u, columns);
    exp_row(n, columns, g.lse[t + r], p);
    const T less = along[r];
    simd::map2(n, p, ds, ds, [=](Vec<T> w, Vec<T> x) { return w * (x - less) * scale; });
    std::fill(ds + n, ds + columns, T{0});
  }
  gemm(true, false, columns, a.width, rows, T{1}, g.p, columns, dy, row, T{1}, g.dv + u * in.step, in.step);
  gemm(true, false, columns, a.width, rows, T{1}, g.ds, columns, q, in.step, T{1}, g.dk + u * in.step,
       in.step);
  gemm(false, false, rows, a.width, columns, T{1}, g.ds, columns, k, in.step, u == 0 ? T{0} : T{1},
       g.dq + t * in.step, in.step);
}

template <class T>
void backward_head(const AttentionProblem& a, const Head<T>& in, const Gradient<T>& g) {
  for (std::int64_t t = 0; t < a.time; ++t) {
    std::fill_n(g.dk + t * in.step, a.width, T{0});
    std::fill_n(g.dv + t * in.step, a.width, T{0});
  }
  T along[kRows];
  for (std::int64_t t = 0; t < a.time; t += kRows) {
    const std::int64_t rows = std::min(kRows, a.time - t), end = a.causal ? t + rows : a.time;
    for (std::int64_t r = 0; r < rows; ++r)
      along[r] = simd::dot(a.width, g.dy + (t + r) * a.row(), g.y + (t + r) * a.row());
    for (std::int64_t u = 0; u < end; u += kColumns) backward_block(a, in, g, along, t, u);
  }
}

std::size_t workspace(const Problem& problem, const Target& target) {
  return static_cast<std::size_t>(target.device.threads) * kScratch * size_of(problem.outputs[0].dtype);
}

Launcher prepare_forward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = attention_problem(problem)](const LaunchArgs& a) {
      const std::int64_t blocks = (p.time + kRows - 1) / kRows;
      parallel_for(p.batch * p.heads * blocks, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
        T* scratch = static_cast<T*>(a.workspace) + thread * kScratch;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t head = i / blocks, first = i % blocks * kRows;
          forward_rows<T>(p, head_of(p, a.in<T>(0), head), first,
                          a.out<T>(0) + row_offset(p, head) + first * p.row(),
                          a.out<T>(1) + head * p.time + first, scratch);
        }
      });
    };
  });
}

Launcher prepare_backward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = attention_problem(problem)](const LaunchArgs& a) {
      parallel_for(p.batch * p.heads, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
        T* scratch = static_cast<T*>(a.workspace) + thread * kScratch;
        for (std::int64_t head = begin; head < end; ++head) {
          const std::int64_t rows = row_offset(p, head);
          T* dq = a.out<T>(0) + (head_of(p, a.in<T>(1), head).q - a.in<T>(1));
          backward_head<T>(p, head_of(p, a.in<T>(1), head),
                           {.dy = a.in<T>(0) + rows,
                            .y = a.in<T>(2) + rows,
                            .lse = a.in<T>(3) + head * p.time,
                            .dq = dq,
                            .dk = dq + p.row(),
                            .dv = dq + 2 * p.row(),
                            .p = scratch,
                            .ds = scratch + kRows * kColumns});
        }
      });
    };
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return problem.op == "attention_grad" ? prepare_backward(problem) : prepare_forward(problem);
}

Work work(const Problem& p, const Target& target) {
  const AttentionProblem attention = attention_problem(p);
  Work work = least_work(p, target);
  work.with("cpu.attention", ordinary_unit(p.outputs[0].dtype));
  work.main().blocks = attention.batch * attention.heads;
  if (p.op == "attention") work.main().blocks *= (attention.time + kRows - 1) / kRows;
  return work;
}

}  // namespace
}  // namespace attention_cpu_blocks_cc

Kernel attention_cpu_blocks() {
  using namespace attention_cpu_blocks_cc;
  return {.name = "cpu:blocks", .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom
