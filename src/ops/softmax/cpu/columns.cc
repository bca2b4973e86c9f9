// Along any other axis: many lines side by side, a tile of them at a time, so that each vector holds elements
// of different lines and the tile is still in cache when it is read again.
#include <algorithm>
#include <limits>

#include "ops/cpu/parallel.h"
#include "ops/cpu/vmath.h"
#include "ops/softmax/softmax.h"

namespace headroom {
namespace softmax_cpu_columns_cc {
namespace {

using simd::Vec;
constexpr std::int64_t kTile = 64;

// Calls body(offset of the tile's first element, lines) for all tiles.
template <class Body>
void each_tile(const SoftmaxProblem& p, Body&& body) {
  const std::int64_t tiles = (p.inner + kTile - 1) / kTile;
  parallel_for(p.outer * tiles, 2048 / (p.length * std::min(kTile, p.inner)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const std::int64_t column = u % tiles * kTile;
                   body(u / tiles * p.length * p.inner + column, std::min(kTile, p.inner - column));
                 }
               });
}

// Sums over the rows of a tile, in two levels: a single chain of thousands of roundings would show.
template <class T>
class LineSums {
 public:
  explicit LineSums(std::int64_t lines) : lines_(lines) {}
  // Calls into(sums so far), which adds the row; rows come in order.
  template <class Add>
  void add(std::int64_t row, Add&& into) {
    into(part_);
    if (row % kRows == kRows - 1) flush();
  }
  T* total() {
    flush();
    return total_;
  }

 private:
  static constexpr std::int64_t kRows = 128;
  void flush() {
    simd::map2(lines_, total_, part_, total_, [](Vec<T> a, Vec<T> b) { return a + b; });
    std::fill_n(part_, lines_, T{0});
  }
  std::int64_t lines_;
  T part_[kTile] = {}, total_[kTile] = {};
};

template <class T>
void forward_tile(const SoftmaxProblem& p, std::int64_t lines, const T* x, T* y) {
  T most[kTile];
  LineSums<T> sums(lines);
  std::fill_n(most, lines, -std::numeric_limits<T>::infinity());
  for (std::int64_t k = 0; k < p.length; ++k)
    simd::map2(lines, x + k * p.inner, most, most, [](Vec<T> v, Vec<T> m) { return simd::max<T>(v, m); });
  for (std::int64_t k = 0; k < p.length; ++k) {
    T* row = y + k * p.inner;
    simd::map2(lines, x + k * p.inner, most, row, [](Vec<T> v, Vec<T> m) { return simd::exp<T>(v - m); });
    sums.add(k,
             [&](T* part) { simd::map2(lines, part, row, part, [](Vec<T> s, Vec<T> e) { return s + e; }); });
  }
  T* sum = sums.total();
  if (p.log)
    simd::map(lines, sum, sum, [](Vec<T> s) { return simd::log<T>(s); });
  else
    simd::map(lines, sum, sum, [](Vec<T> s) { return T{1} / s; });
  for (std::int64_t k = 0; k < p.length; ++k) {
    const T* from = x + k * p.inner;
    T* to = y + k * p.inner;
    if (p.log)
      simd::map3(lines, from, most, sum, to, [](Vec<T> v, Vec<T> m, Vec<T> s) { return (v - m) - s; });
    else
      simd::map2(lines, to, sum, to, [](Vec<T> e, Vec<T> s) { return e * s; });
  }
}

template <class T>
void backward_tile(const SoftmaxProblem& p, std::int64_t lines, const T* dy, const T* y, T* dx) {
  LineSums<T> sums(lines);
  for (std::int64_t k = 0; k < p.length; ++k) {
    const T *g = dy + k * p.inner, *v = y + k * p.inner;
    sums.add(k, [&](T* part) {
      if (p.log)
        simd::map2(lines, part, g, part, [](Vec<T> s, Vec<T> d) { return s + d; });
      else
        simd::map3(lines, part, g, v, part, [](Vec<T> s, Vec<T> d, Vec<T> e) { return s + d * e; });
    });
  }
  const T* sum = sums.total();
  for (std::int64_t k = 0; k < p.length; ++k) {
    const T *g = dy + k * p.inner, *v = y + k * p.inner;
    if (p.log)
      simd::map3(lines, g, v, sum, dx + k * p.inner,
                 [](Vec<T> d, Vec<T> e, Vec<T> s) { return d - simd::exp<T>(e) * s; });
    else
      simd::map3(lines, g, v, sum, dx + k * p.inner,
                 [](Vec<T> d, Vec<T> e, Vec<T> s) { return e * (d - s); });
  }
}

Launcher prepare_forward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = softmax_problem(problem)](const LaunchArgs& a) {
      each_tile(p, [&](std::int64_t at, std::int64_t lines) {
        forward_tile(p, lines, a.in<T>(0) + at, a.out<T>(0) + at);
      });
    };
  });
}

Launcher prepare_backward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = softmax_problem(problem)](const LaunchArgs& a) {
      each_tile(p, [&](std::int64_t at, std::int64_t lines) {
        backward_tile(p, lines, a.in<T>(0) + at, a.in<T>(1) + at, a.out<T>(0) + at);
      });
    };
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return softmax_problem(problem).backward ? prepare_backward(problem) : prepare_forward(problem);
}

}  // namespace
}  // namespace softmax_cpu_columns_cc

Kernel softmax_cpu_columns() {
  using namespace softmax_cpu_columns_cc;
  return {.name = "cpu:columns", .prepare = prepare};
}

}  // namespace headroom
