// The definition: every output visits every element of its window and asks where it lies.
#include <algorithm>
#include <limits>

#include "ops/pool/pool.h"

namespace headroom {
namespace pool_reference_cc {
namespace {

// Calls visit(row, column) for each element of the window of output (i, j), in row order.
template <class Visit>
void each_tap(const Window2d& w, std::int64_t i, std::int64_t j, Visit&& visit) {
  for (std::int64_t kh = 0; kh < w.kernel.h; ++kh)
    for (std::int64_t kw = 0; kw < w.kernel.w; ++kw)
      visit(i * w.stride.h - w.pad.h + kh * w.dilation.h, j * w.stride.w - w.pad.w + kw * w.dilation.w);
}

bool inside(const Window2d& w, std::int64_t h, std::int64_t v) {
  return h >= 0 && h < w.input.h && v >= 0 && v < w.input.w;
}

// Index of the window's maximum in its plane; -1 where the window sees only padding.
template <class T>
std::int64_t argmax(const Window2d& w, const T* x, std::int64_t i, std::int64_t j) {
  std::int64_t best = -1;
  each_tap(w, i, j, [&](std::int64_t h, std::int64_t v) {
    if (!inside(w, h, v)) return;
    const std::int64_t at = h * w.input.w + v;
    if (best < 0 || exceeds(x[at], x[best])) best = at;
  });
  return best;
}

std::int64_t divisor(const PoolProblem& p, std::int64_t i, std::int64_t j) {
  const Window2d& w = p.window;
  std::int64_t count = 0;
  each_tap(w, i, j, [&](std::int64_t h, std::int64_t v) {
    const bool padded = h < w.input.h + w.pad_end.h && v < w.input.w + w.pad_end.w;
    count += p.count_include_pad ? padded : inside(w, h, v);
  });
  return std::max<std::int64_t>(count, 1);
}

// Calls body(input plane offset, output offset, i, j) for every output.
template <class Body>
void each_output(const PoolProblem& p, Body&& body) {
  for (std::int64_t plane = 0; plane < p.planes; ++plane)
    for (std::int64_t i = 0; i < p.window.output.h; ++i)
      for (std::int64_t j = 0; j < p.window.output.w; ++j)
        body(plane * p.input_plane(), plane * p.output_plane() + i * p.window.output.w + j, i, j);
}

template <class T>
void max_pool(const PoolProblem& p, const T* x, T* y) {
  each_output(p, [&](std::int64_t plane, std::int64_t out, std::int64_t i, std::int64_t j) {
    const std::int64_t best = argmax(p.window, x + plane, i, j);
    y[out] = best < 0 ? -std::numeric_limits<T>::infinity() : x[plane + best];
  });
}

template <class T>
void max_pool_grad(const PoolProblem& p, const T* dy, const T* x, T* dx) {
  std::fill_n(dx, p.planes * p.input_plane(), T{0});
  each_output(p, [&](std::int64_t plane, std::int64_t out, std::int64_t i, std::int64_t j) {
    const std::int64_t best = argmax(p.window, x + plane, i, j);
    if (best >= 0) dx[plane + best] += dy[out];
  });
  for (std::int64_t k = 0; k < p.planes * p.input_plane(); ++k) dx[k] *= slope_from_output(p.slope, x[k]);
}

template <class T>
void avg_pool(const PoolProblem& p, const T* x, T* y) {
  each_output(p, [&](std::int64_t plane, std::int64_t out, std::int64_t i, std::int64_t j) {
    T sum = 0;
    each_tap(p.window, i, j, [&](std::int64_t h, std::int64_t v) {
      if (inside(p.window, h, v)) sum += x[plane + h * p.window.input.w + v];
    });
    y[out] = sum / static_cast<T>(divisor(p, i, j));
  });
}

template <class T>
void avg_pool_grad(const PoolProblem& p, const T* dy, T* dx) {
  std::fill_n(dx, p.planes * p.input_plane(), T{0});
  each_output(p, [&](std::int64_t plane, std::int64_t out, std::int64_t i, std::int64_t j) {
    const T share = dy[out] / static_cast<T>(divisor(p, i, j));
    each_tap(p.window, i, j, [&](std::int64_t h, std::int64_t v) {
      if (inside(p.window, h, v)) dx[plane + h * p.window.input.w + v] += share;
    });
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  const PoolProblem p = pool_problem(problem);
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    if (problem.op == "max_pool") return [p](const LaunchArgs& a) { max_pool(p, a.in<T>(0), a.out<T>(0)); };
    if (problem.op == "max_pool_grad")
      return [p](const LaunchArgs& a) { max_pool_grad(p, a.in<T>(0), a.in<T>(1), a.out<T>(0)); };
    if (problem.op == "avg_pool") return [p](const LaunchArgs& a) { avg_pool(p, a.in<T>(0), a.out<T>(0)); };
    return [p](const LaunchArgs& a) { avg_pool_grad(p, a.in<T>(0), a.out<T>(0)); };
  });
}

}  // namespace
}  // namespace pool_reference_cc

Kernel pool_reference() {
  using namespace pool_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
