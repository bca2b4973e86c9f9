// 2x2 windows that step by 2: two input rows give one output row. Vectors of pairs are split into even and
// odd columns, so that one vector operation serves as many windows as it has lanes. Bound by memory.
#include <utility>

#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"
#include "ops/pool/pool.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace headroom {
namespace {

template <class T, int N>
struct Lanes {
  typedef T Vec __attribute__((vector_size(N * sizeof(T))));
  static Vec load(const T* from) {
    Vec v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(T* to, Vec v) { std::memcpy(to, &v, sizeof v); }

  // NaN if either is. Arm has it as one instruction; elsewhere a comparison more than the usual maximum.
  static Vec larger(Vec a, Vec b) {
#if defined(__aarch64__)
    if constexpr (sizeof(Vec) == 16 && sizeof(T) == 4)
      return vmaxq_f32(a, b);
    else if constexpr (sizeof(Vec) == 16 && sizeof(T) == 8)
      return vmaxq_f64(a, b);
    else
#endif
      return (b > a) | (b != b) ? b : a;
  }

  template <int... I>
  static Vec even(Vec a, Vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (2 * I)...);
  }
  template <int... I>
  static Vec odd(Vec a, Vec b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (2 * I + 1)...);
  }
  template <int... I>
  static Vec zip(Vec a, Vec b, int from, std::integer_sequence<int, I...>) {
    return from == 0 ? __builtin_shufflevector(a, b, (I / 2 + I % 2 * N)...)
                     : __builtin_shufflevector(a, b, (N / 2 + I / 2 + I % 2 * N)...);
  }

  // 2N neighbours, split into first and second of each pair; and back.
  static void split_pairs(Vec a, Vec b, Vec& first, Vec& second) {
    first = even(a, b, std::make_integer_sequence<int, N>());
    second = odd(a, b, std::make_integer_sequence<int, N>());
  }
  static void load_pairs(const T* from, Vec& first, Vec& second) {
    split_pairs(load(from), load(from + N), first, second);
  }
  static void store_pairs(T* to, Vec first, Vec second) {
    store(to, zip(first, second, 0, std::make_integer_sequence<int, N>()));
    store(to + N, zip(first, second, 1, std::make_integer_sequence<int, N>()));
  }
};

// Calls f.operator()<N>() with the widest vector that a row of `n` windows fills, so that a row of 14 still
// runs in vectors where a register holds 16.
template <class T, int N = simd::kLanes<T>, class F>
void with_lanes(std::int64_t n, F&& f) {
  if constexpr (N > 2) {
    if (n < N) return with_lanes<T, N / 2>(n, f);
  }
  f.template operator()<N>();
}

// Steps of N windows; the last one overlaps its neighbour instead of running beyond the row.
template <int N, class Vector, class Scalar>
void each_window(std::int64_t n, Vector&& vector, Scalar&& scalar) {
  std::int64_t j = 0;
  for (; j + N <= n; j += N) vector(j);
  if (j == n) return;
  if (n >= N) return vector(n - N);
  for (; j < n; ++j) scalar(j);
}

template <class V>
auto exceeds_lanes(V next, V best) {
  return ~(next <= best) & (best == best);
}

template <class T, int N>
void max_row(std::int64_t n, const T* top, const T* bottom, T* y) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        const auto left = L::larger(L::load(top + 2 * j), L::load(bottom + 2 * j));
        const auto right = L::larger(L::load(top + 2 * j + N), L::load(bottom + 2 * j + N));
        typename L::Vec first, second;
        L::split_pairs(left, right, first, second);
        L::store(y + j, L::larger(first, second));
      },
      [&](std::int64_t j) {
        T best = top[2 * j];
        for (T next : {top[2 * j + 1], bottom[2 * j], bottom[2 * j + 1]})
          if (exceeds(next, best)) best = next;
        y[j] = best;
      });
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
void avg_row(std::int64_t n, const T* top, const T* bottom, T* y) {
  using L = Lanes<T, N>;
  each_window<N>(
      n,
      [&](std::int64_t j) {
        typename L::Vec first, second;
        const typename L::Vec left = L::load(top + 2 * j) + L::load(bottom + 2 * j);
        const typename L::Vec right = L::load(top + 2 * j + N) + L::load(bottom + 2 * j + N);
        L::split_pairs(left, right, first, second);
        L::store(y + j, (first + second) * T{0.25});
      },
      [&](std::int64_t j) {
        y[j] = ((top[2 * j] + bottom[2 * j]) + (top[2 * j + 1] + bottom[2 * j + 1])) * T{0.25};
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
Launcher pairs(const Problem& problem, Body body) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = pool_problem(problem), body](const LaunchArgs& args) {
      with_lanes<T>(p.window.output.w, [&]<int N>() { body.template operator()<T, N>(p, args); });
    };
  });
}

Verdict accepts(const Problem& problem, const Target& target) {
  const Window2d w = pool_problem(problem).window;
  const Extent2d one{1, 1}, two{2, 2}, zero{0, 0};
  if (w.kernel != two || w.stride != two || w.dilation != one)
    return refuse("not a 2x2 window that steps by 2");
  if (w.pad != zero || 2 * w.output.h > w.input.h || 2 * w.output.w > w.input.w)
    return refuse("windows reach into the padding");
  return accepts_cpu_floats(problem, target);
}

Launcher prepare_max(const Problem& problem) {
  return pairs(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
    const Extent2d in = p.window.input, out = p.window.output;
    each_row(p, [&, x = a.in<T>(0), y = a.out<T>(0)](std::int64_t from, std::int64_t to, std::int64_t) {
      max_row<T, N>(out.w, x + from, x + from + in.w, y + to);
    });
  });
}

Launcher prepare_max_grad(const Problem& problem) {
  return pairs(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
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
  return pairs(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
    const Extent2d in = p.window.input, out = p.window.output;
    each_row(p, [&, x = a.in<T>(0), y = a.out<T>(0)](std::int64_t from, std::int64_t to, std::int64_t) {
      avg_row<T, N>(out.w, x + from, x + from + in.w, y + to);
    });
  });
}

Launcher prepare_mean_grad(const Problem& problem) {
  return pairs(problem, []<class T, int N>(const PoolProblem& p, const LaunchArgs& a) {
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

Kernel pool_cpu_pairs() { return {.name = "cpu:pairs", .accepts = accepts, .prepare = prepare}; }

}  // namespace headroom
