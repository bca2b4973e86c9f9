// A strip of neighbouring pixels through all channels: vectors run over the pixels, and the window's channels
// are still in the first cache when they are summed. They are summed anew for each channel: a sum that slides
// by adding one square and subtracting another would carry the rounding of a large value, or a NaN, on to
// channels that never saw it, and would save only what hides behind the roots and the division.
#include <cmath>

#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"
#include "ops/lrn/lrn.h"

namespace headroom {
namespace {

constexpr std::int64_t kStrip = 128;

template <class V>
V root(V x) {
  if constexpr (std::is_arithmetic_v<V>)
    return std::sqrt(x);
  else
    return simd::sqrt(x);
}

// s^-beta. Multiples of a quarter, which networks use, need square roots alone.
enum class Power { half, three_quarters, one, any };

Power power_of(double beta) {
  if (beta == 0.5) return Power::half;
  if (beta == 0.75) return Power::three_quarters;
  return beta == 1 ? Power::one : Power::any;
}

template <Power kPower, class T, class V>
V inverse_power(V s, T beta) {
  if constexpr (kPower == Power::half) return T{1} / root(s);
  if constexpr (kPower == Power::one) return T{1} / s;
  if constexpr (kPower == Power::three_quarters) {
    const V r = root(s);
    return T{1} / (r * root(r));
  }
  if constexpr (kPower == Power::any) {
    if constexpr (std::is_arithmetic_v<V>) {
      return std::pow(s, -beta);
    } else {
      for (int i = 0; i < simd::kLanes<T>; ++i) s[i] = std::pow(s[i], -beta);
      return s;
    }
  }
}

template <class V, class T>
V load(const T* from) {
  if constexpr (std::is_arithmetic_v<V>)
    return *from;
  else
    return simd::load(from);
}

template <class T, class V>
void store(T* to, V v) {
  if constexpr (std::is_arithmetic_v<V>)
    *to = v;
  else
    simd::store(to, v);
}

// Calls body<V>(i) for the pixels [begin, end): vectors, then numbers. Strips begin at fixed places, so it is
// always the same pixels that come as numbers.
template <class T, class Body>
void each_vector(std::int64_t begin, std::int64_t end, Body&& body) {
  std::int64_t i = begin;
  for (; i + simd::kLanes<T> <= end; i += simd::kLanes<T>) body.template operator()<simd::Vec<T>>(i);
  for (; i < end; ++i) body.template operator()<T>(i);
}

// Calls body(image, begin, end, thread) for each strip.
template <class Body>
void each_strip(const LrnProblem& p, Body&& body) {
  const std::int64_t strips = (p.plane + kStrip - 1) / kStrip;
  const std::int64_t work = p.channels * std::min(p.plane, kStrip);
  parallel_for(p.rows * strips, kElementwiseGrain / (4 * work) + 1,
               [&](std::int64_t first, std::int64_t last, int thread) {
                 for (std::int64_t k = first; k < last; ++k) {
                   const std::int64_t begin = k % strips * kStrip;
                   body(k / strips, begin, std::min(begin + kStrip, p.plane), thread);
                 }
               });
}

template <class V, class T>
V window_scale(const LrnProblem& p, const T* x, std::int64_t c, std::int64_t i) {
  V sum{};
  for (std::int64_t k = p.first(c); k <= p.last(c); ++k) {
    const V v = load<V>(x + k * p.plane + i);
    sum += v * v;
  }
  return sum * static_cast<T>(p.factor) + static_cast<T>(p.bias);
}

template <class T, Power kPower>
void forward(const LrnProblem& p, const T* all, T* out) {
  const T beta = static_cast<T>(p.beta);
  each_strip(p, [&](std::int64_t row, std::int64_t begin, std::int64_t end, int) {
    const T* x = all + row * p.channels * p.plane;
    T* y = out + row * p.channels * p.plane;
    for (std::int64_t c = 0; c < p.channels; ++c)
      each_vector<T>(begin, end, [&]<class V>(std::int64_t i) {
        const V s = window_scale<V>(p, x, c, i);
        store(y + c * p.plane + i, load<V>(x + c * p.plane + i) * inverse_power<kPower>(s, beta));
      });
  });
}

// First dy s^-beta into dx and dy x s^(-beta-1) into the scratch, then the sums of the latter over the
// outputs whose windows hold the channel.
template <class T, Power kPower>
void backward(const LrnProblem& p, const T* all_dy, const T* all_x, T* out, T* scratch) {
  const T beta = static_cast<T>(p.beta), factor = static_cast<T>(-2 * p.factor * p.beta);
  each_strip(p, [&](std::int64_t row, std::int64_t begin, std::int64_t end, int thread) {
    const std::int64_t at = row * p.channels * p.plane;
    const T* dy = all_dy + at;
    const T* x = all_x + at;
    T* dx = out + at;
    T* part = scratch + thread * p.channels * kStrip - begin;
    for (std::int64_t c = 0; c < p.channels; ++c)
      each_vector<T>(begin, end, [&]<class V>(std::int64_t i) {
        const V s = window_scale<V>(p, x, c, i);
        const V d = load<V>(dy + c * p.plane + i) * inverse_power<kPower>(s, beta);
        store(dx + c * p.plane + i, d);
        store(part + c * kStrip + i, load<V>(x + c * p.plane + i) * d / s);
      });
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(c - p.after, 0);
      const std::int64_t last = std::min(c + p.before, p.channels - 1);
      each_vector<T>(begin, end, [&]<class V>(std::int64_t i) {
        V sum{};
        for (std::int64_t k = first; k <= last; ++k) sum += load<V>(part + k * kStrip + i);
        T* to = dx + c * p.plane + i;
        store(to, load<V>(to) + load<V>(x + c * p.plane + i) * sum * factor);
      });
    }
  });
}

template <class F>
auto with_power(double beta, F&& f) {
  switch (power_of(beta)) {
    case Power::half:
      return f.template operator()<Power::half>();
    case Power::three_quarters:
      return f.template operator()<Power::three_quarters>();
    case Power::one:
      return f.template operator()<Power::one>();
    default:
      return f.template operator()<Power::any>();
  }
}

}  // namespace

Launcher lrn_strips(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const LrnProblem p = lrn_problem(problem);
    return with_power(p.beta, [&]<Power kPower>() -> Launcher {
      return [p](const LaunchArgs& a) { forward<T, kPower>(p, a.in<T>(0), a.out<T>(0)); };
    });
  });
}

Launcher lrn_grad_strips(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const LrnProblem p = lrn_problem(problem);
    return with_power(p.beta, [&]<Power kPower>() -> Launcher {
      return [p](const LaunchArgs& a) {
        backward<T, kPower>(p, a.in<T>(0), a.in<T>(1), a.out<T>(0), static_cast<T*>(a.workspace));
      };
    });
  });
}

std::size_t lrn_grad_workspace(const Problem& problem, const Capabilities& capabilities) {
  return static_cast<std::size_t>(capabilities.threads * lrn_problem(problem).channels * kStrip) *
         size_of(problem.outputs[0].dtype);
}

}  // namespace headroom
