// 2x2 windows that step by 2, by the rows of pairs.h. Bound by memory.
#include "ops/pool/cpu/pairs.h"

#include "ops/cpu/parallel.h"

namespace headroom {
namespace pool_cpu_pairs_cc {
namespace {

using pairs::avg_row, pairs::each_window, pairs::Lanes, pairs::max_row, pairs::with_lanes;

template <class V>
auto exceeds_lanes(V next, V best) {
  return ~(next <= best) & (best == best);
}

// dy times the slope of the activation whose output is y; of vectors and of single numbers.
template <Activation kSlope, class V>
V sloped(V dy, V y) {
  if constexpr (kSlope == Activation::relu)
    return y > V{} ? dy : V{};
  else if constexpr (kSlope == Activation::sigmoid)
    return dy * (y * (1 - y));
  else if constexpr (kSlope == Activation::tanh)
    return dy * (1 - y * y);
  else
    return dy;
}

template <class T, int N, Activation kSlope>
void max_grad_row(std::int64_t n, const T* dy, const T* top, const T* bottom, T* dtop, T* dbottom) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        typename L::Vec a, b, c, d;
        L::load_pairs(top + 2 * j, a, b);
        L::load_pairs(bottom + 2 * j, c, d);
        const typename L::Vec zero{};
        const auto right_above = exceeds_lanes(b, a), right_below = exceeds_lanes(d, c);
        a = right_above ? b : a;
        c = right_below ? d : c;
        const auto below = exceeds_lanes(c, a);
        const typename L::Vec best = below ? c : a,
                              g = sloped<kSlope, typename L::Vec>(L::load(dy + j), best);
        const typename L::Vec above_gets = below ? zero : g, below_gets = below ? g : zero;
        L::store_pairs(dtop + 2 * j, right_above ? zero : above_gets, right_above ? above_gets : zero);
        L::store_pairs(dbottom + 2 * j, right_below ? zero : below_gets, right_below ? below_gets : zero);
      },
      [&](std::int64_t j) {
        const T* x[4] = {top + 2 * j, top + 2 * j + 1, bottom + 2 * j, bottom + 2 * j + 1};
        T* dx[4] = {dtop + 2 * j, dtop + 2 * j + 1, dbottom + 2 * j, dbottom + 2 * j + 1};
        int best = 0;
        for (int k = 1; k < 4; ++k)
          if (exceeds(*x[k], *x[best])) best = k;
        for (int k = 0; k < 4; ++k) *dx[k] = k == best ? sloped<kSlope>(dy[j], *x[best]) : T{0};
      });
}

template <class T, int N>
void avg_grad_row(std::int64_t n, const T* dy, T* dtop, T* dbottom) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        const typename L::Vec share = L::load(dy + j) * T{0.25};
        L::store_pairs(dtop + 2 * j, share, share);
        L::store_pairs(dbottom + 2 * j, share, share);
      },
      [&](std::int64_t j) {
        dtop[2 * j] = dtop[2 * j + 1] = dbottom[2 * j] = dbottom[2 * j + 1] = dy[j] * T{0.25};
      });
}

// Calls row(input offset of the upper row, output offset) for every output row, shared among the threads.
template <class Row>
void each_row(const PoolProblem& p, Row&& row) {
  const Window2d& w = p.window;
  const std::int64_t grain = kElementwiseGrain / (4 * w.output.w) + 1;
  parallel_for(p.planes * w.output.h, grain, [&](std::int64_t begin, std::int64_t end, int) {
    std::int64_t plane = begin / w.output.h, i = begin % w.output.h;
    for (std::int64_t r = begin; r < end; ++r) {
      row(plane * p.input_plane() + 2 * i * w.input.w, r * w.output.w, i);
      if (++i == w.output.h) i = 0, ++plane;
    }
  });
}

// An odd input leaves a column and a row that no window reads: they get no gradient.
template <class T>
void clear_rest(const Window2d& w, std::int64_t i, T* dx) {
  if (w.input.w > 2 * w.output.w)
    for (std::int64_t v = 2 * w.output.w; v < w.input.w; ++v) dx[v] = dx[w.input.w + v] = 0;
  if (i + 1 < w.output.h) return;
  for (std::int64_t k = 2 * w.input.w; k < (w.input.h - 2 * i) * w.input.w; ++k) dx[k] = 0;
}

// Makes the launcher that runs body.operator()<T, N>(problem, args).
template <class Body>
Launcher launcher_of(const Problem& problem, Body body) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = pool_problem(problem), body](const LaunchArgs& args) {
      with_lanes<T>(p.window.output.w, [&]<int N>() { body.template operator()<T, N>(p, args); });
    };
  });
}

Verdict accepts(const Problem& problem, const Target& target) {
  if (Verdict v = pairs::accepts_window(pool_problem(problem).window); !v.ok) return v;
  return accepts_cpu_floats(problem, target);
}

Launcher prepare_max(const Problem& problem) {
  return launcher_of(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
    const Extent2d in = p.window.input, out = p.window.output;
    each_row(p, [&, x = a.in<T>(0), y = a.out<T>(0)](std::int64_t from, std::int64_t to, std::int64_t) {
      max_row<T, N>(out.w, x + from, x + from + in.w, y + to);
    });
  });
}

Launcher prepare_max_grad(const Problem& problem) {
  return launcher_of(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
    const Extent2d in = p.window.input, out = p.window.output;
    const auto row = p.slope == Activation::relu      ? max_grad_row<T, N, Activation::relu>
                     : p.slope == Activation::sigmoid ? max_grad_row<T, N, Activation::sigmoid>
                     : p.slope == Activation::tanh    ? max_grad_row<T, N, Activation::tanh>
                                                      : max_grad_row<T, N, Activation::none>;
    each_row(p, [&, dy = a.in<T>(0), x = a.in<T>(1), dx = a.out<T>(0)](std::int64_t from, std::int64_t to,
                                                                       std::int64_t i) {
      row(out.w, dy + to, x + from, x + from + in.w, dx + from, dx + from + in.w);
      clear_rest(p.window, i, dx + from);
    });
  });
}

Launcher prepare_mean(const Problem& problem) {
  return launcher_of(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
    const Extent2d in = p.window.input, out = p.window.output;
    each_row(p, [&, x = a.in<T>(0), y = a.out<T>(0)](std::int64_t from, std::int64_t to, std::int64_t) {
      avg_row<T, N>(out.w, x + from, x + from + in.w, y + to);
    });
  });
}

Launcher prepare_mean_grad(const Problem& problem) {
  return launcher_of(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
    const Extent2d in = p.window.input, out = p.window.output;
    each_row(p, [&, dy = a.in<T>(0), dx = a.out<T>(0)](std::int64_t from, std::int64_t to, std::int64_t i) {
      avg_grad_row<T, N>(out.w, dy + to, dx + from, dx + from + in.w);
      clear_rest(p.window, i, dx + from);
    });
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  if (problem.op == "max_pool") return prepare_max(problem);
  if (problem.op == "max_pool_grad") return prepare_max_grad(problem);
  return problem.op == "avg_pool" ? prepare_mean(problem) : prepare_mean_grad(problem);
}

}  // namespace
}  // namespace pool_cpu_pairs_cc

Kernel pool_cpu_pairs() {
  using namespace pool_cpu_pairs_cc;
  return {.name = "cpu:pairs", .accepts = accepts, .prepare = prepare};
}

}  // namespace headroom
