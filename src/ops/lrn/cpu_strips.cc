// A strip of neighbouring pixels through all channels: vectors run over the pixels, and the window's channels
// are still in the first cache when they are summed. They are summed anew for each channel: a sum that slides
// by adding one square and subtracting another would carry the rounding of a large value, or a NaN, on to
// channels that never saw it, and would save only a few of the operations.
#include <bit>
#include <cmath>
#include <limits>

#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"
#include "ops/lrn/lrn.h"

namespace headroom {
namespace {

constexpr std::int64_t kStrip = 128;

// x^(-1/4) of a normal number by Newton's method: no root, no division. A quarter of its bits gives a guess
// within 5 %, and each round squares the error. Infinity gives 0.
template <class T, class V>
V inverse_fourth_root(V x) {
  using I = simd::IntOf<T>;
  constexpr bool kSingle = sizeof(T) == 4;
  // The exponent of one, less what a straight line misses of the logarithm on average.
  constexpr double kOne = (kSingle ? 127 : 1023) - 0.045;
  constexpr auto kGuess = static_cast<I>(1.25 * kOne * static_cast<double>(I{1} << (kSingle ? 23 : 52)));
  V y;
  if constexpr (std::is_arithmetic_v<V>)
    y = std::bit_cast<T>(kGuess - (std::bit_cast<I>(x) >> 2));
  else
    y = reinterpret_cast<V>(kGuess - (reinterpret_cast<simd::Vec<I>>(x) >> 2));
  const V quarter = x * T{0.25};
  for (int round = 0; round < (kSingle ? 3 : 5); ++round) {
    const V square = y * y;
    y = y * (T{1.25} - quarter * square * square);
  }
  const V zero{};
  return x > zero + std::numeric_limits<T>::max() ? zero : y;
}

// s^-beta and 1 / s. Multiples of a quarter, which networks use, need the fourth root alone.
template <class V>
struct Powers {
  V beta, one;
};

template <int kQuarters, class T, class V>
Powers<V> inverse_powers(V s, T beta) {
  if constexpr (kQuarters > 0) {
    const V root = inverse_fourth_root<T>(s), square = root * root;
    const V powers[] = {root, square, square * root, square * square};
    return {powers[kQuarters - 1], powers[3]};
  } else if constexpr (std::is_arithmetic_v<V>) {
    return {std::pow(s, -beta), T{1} / s};
  } else {
    V power = s;
    for (int i = 0; i < simd::kLanes<T>; ++i) power[i] = std::pow(s[i], -beta);
    return {power, T{1} / s};
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

// The channels one sum runs over, with what every pixel of a strip needs in registers.
template <class T>
struct Window {
  const T* from;
  std::int64_t count, step;

  // Five channels, which networks use, without a loop: half the instructions, and a shorter chain of sums.
  template <class V>
  V squares(std::int64_t i) const {
    V sum{};
    const T* at = from + i;
    if (count == 5) {
      const V a = load<V>(at), b = load<V>(at + step), c = load<V>(at + 2 * step);
      const V d = load<V>(at + 3 * step), e = load<V>(at + 4 * step);
      return (a * a + b * b) + (c * c + d * d) + e * e;
    }
    for (std::int64_t k = 0; k < count; ++k, at += step) sum += load<V>(at) * load<V>(at);
    return sum;
  }
  template <class V>
  V values(std::int64_t i) const {
    V sum{};
    const T* at = from + i;
    if (count == 5)
      return (load<V>(at) + load<V>(at + step)) + (load<V>(at + 2 * step) + load<V>(at + 3 * step)) +
             load<V>(at + 4 * step);
    for (std::int64_t k = 0; k < count; ++k, at += step) sum += load<V>(at);
    return sum;
  }
};

template <class T>
Window<T> window_of(const LrnProblem& p, const T* x, std::int64_t c) {
  return {x + p.first(c) * p.plane, p.last(c) - p.first(c) + 1, p.plane};
}

template <class T, int kQuarters>
void forward(const LrnProblem& p, const T* all, T* out) {
  const T beta = static_cast<T>(p.beta), factor = static_cast<T>(p.factor), bias = static_cast<T>(p.bias);
  each_strip(p, [&](std::int64_t row, std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const Window<T> window = window_of(p, all + row * p.channels * p.plane, c);
      const T* x = all + (row * p.channels + c) * p.plane;
      T* y = out + (row * p.channels + c) * p.plane;
      each_vector<T>(begin, end, [=]<class V>(std::int64_t i) {
        const V s = window.template squares<V>(i) * factor + bias;
        store(y + i, load<V>(x + i) * inverse_powers<kQuarters>(s, beta).beta);
      });
    }
  });
}

// First dy s^-beta into dx and dy x s^(-beta-1) into the scratch, then the sums of the latter over the
// outputs whose windows hold the channel.
template <class T, int kQuarters>
void backward(const LrnProblem& p, const T* all_dy, const T* all_x, T* out, T* scratch) {
  const T beta = static_cast<T>(p.beta), factor = static_cast<T>(p.factor), bias = static_cast<T>(p.bias);
  const T slope = static_cast<T>(-2 * p.factor * p.beta);
  each_strip(p, [&](std::int64_t row, std::int64_t begin, std::int64_t end, int thread) {
    T* parts = scratch + thread * p.channels * kStrip;
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const std::int64_t at = (row * p.channels + c) * p.plane;
      const Window<T> window = window_of(p, all_x + row * p.channels * p.plane, c);
      const T* dy = all_dy + at;
      const T* x = all_x + at;
      T* dx = out + at;
      T* part = parts + c * kStrip;
      each_vector<T>(begin, end, [=]<class V>(std::int64_t i) {
        const V s = window.template squares<V>(i) * factor + bias;
        const Powers<V> power = inverse_powers<kQuarters>(s, beta);
        const V d = load<V>(dy + i) * power.beta;
        store(dx + i, d);
        store(part + (i - begin), load<V>(x + i) * d * power.one);
      });
    }
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(c - p.after, 0);
      const std::int64_t last = std::min(c + p.before, p.channels - 1);
      const Window<T> window{parts + first * kStrip, last - first + 1, kStrip};
      const T* x = all_x + (row * p.channels + c) * p.plane;
      T* dx = out + (row * p.channels + c) * p.plane;
      each_vector<T>(begin, end, [=]<class V>(std::int64_t i) {
        const V sum = window.template values<V>(i - begin);
        store(dx + i, load<V>(dx + i) + load<V>(x + i) * sum * slope);
      });
    }
  });
}

// Calls f with beta in quarters, or with 0 where it is not a multiple of one to four of them.
template <class F>
auto with_quarters(const LrnProblem& p, F&& f) {
  constexpr double kSurelyNormal = 1e-30;
  const double quarters = p.bias < kSurelyNormal ? 0 : 4 * p.beta;
  if (quarters == 1) return f.template operator()<1>();
  if (quarters == 2) return f.template operator()<2>();
  if (quarters == 3) return f.template operator()<3>();
  if (quarters == 4) return f.template operator()<4>();
  return f.template operator()<0>();
}

}  // namespace

Launcher lrn_strips(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const LrnProblem p = lrn_problem(problem);
    return with_quarters(p, [&]<int kQuarters>() -> Launcher {
      return [p](const LaunchArgs& a) { forward<T, kQuarters>(p, a.in<T>(0), a.out<T>(0)); };
    });
  });
}

Launcher lrn_grad_strips(const Problem& problem, const Capabilities&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const LrnProblem p = lrn_problem(problem);
    return with_quarters(p, [&]<int kQuarters>() -> Launcher {
      return [p](const LaunchArgs& a) {
        backward<T, kQuarters>(p, a.in<T>(0), a.in<T>(1), a.out<T>(0), static_cast<T*>(a.workspace));
      };
    });
  });
}

std::size_t lrn_grad_workspace(const Problem& problem, const Capabilities& capabilities) {
  return static_cast<std::size_t>(capabilities.threads * lrn_problem(problem).channels * kStrip) *
         size_of(problem.outputs[0].dtype);
}

}  // namespace headroom
