// A strip of neighbouring pixels through all channels: vectors run over the pixels, and the window's channels
// are still in the first cache when they are summed. They are summed anew for each channel: a sum that slides
// by adding one square and subtracting another would carry the rounding of a large value, or a NaN, on to
// channels that never saw it, and would save only a few of the operations.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "ops/cpu/parallel.h"
#include "ops/cpu/simd.h"
#include "ops/lrn/lrn.h"

namespace headroom {
namespace lrn_cpu_strips_cc {
namespace {

constexpr std::int64_t kStrip = 256;

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

// x^(-1/2) and x^(-1/4).
template <class V>
struct InverseRoots {
  V square, fourth;
};

template <class T, class V>
InverseRoots<V> inverse_roots(V x) {
#if defined(__aarch64__)
  // Arm guesses eight bits of x^(-1/2) and has an instruction for half a round of Newton's; the root of that
  // runs in a unit of its own meanwhile: 11 cycles a register, where either method alone takes 13 to 15.
  if constexpr (std::is_same_v<V, simd::Vec<float>>) {
    V y = vrsqrteq_f32(x);
    for (int round = 0; round < 2; ++round) y = y * vrsqrtsq_f32(x * y, y);
    const V zero{}, square = x > zero + std::numeric_limits<T>::max() ? zero : y;
    return {square, simd::sqrt(square)};
  }
#endif
  const V fourth = inverse_fourth_root<T>(x);
  return {fourth * fourth, fourth};
}

// s^-beta and 1 / s. Multiples of a quarter, which networks use, need the roots alone.
template <class V>
struct Powers {
  V beta, one;
};

template <int kQuarters, class T, class V>
Powers<V> inverse_powers(V s, T beta) {
  if constexpr (kQuarters > 0) {
    const auto [square, fourth] = inverse_roots<T>(s);
    const V powers[] = {fourth, square, square * fourth, square * square};
    return {powers[kQuarters - 1], powers[3]};
  } else if constexpr (std::is_arithmetic_v<V>) {
    return {std::pow(s, -beta), T{1} / s};
  } else {
    V power = s;
    for (int i = 0; i < simd::kLanes<T>; ++i) power[i] = std::pow(s[i], -beta);
    return {power, T{1} / s};
  }
}

// Calls body<V, count>(i) for `count` neighbouring V of the pixels [begin, end): several registers, one, then
// numbers. One after the other, registers would wait for the roots. Strips begin at fixed places, so it is
// always the same pixels that come as numbers.
template <class T, bool kFive, class Body>
void walk_vectors(std::int64_t begin, std::int64_t end, const Body& body) {
  constexpr std::int64_t kStep = simd::kLanes<T>;
  constexpr int kFlight = 8;
  std::int64_t i = begin;
  for (; i + kFlight * kStep <= end; i += kFlight * kStep)
    body.template operator()<simd::Vec<T>, kFlight, kFive>(i);
  for (; i + kStep <= end; i += kStep) body.template operator()<simd::Vec<T>, 1, kFive>(i);
  for (; i < end; ++i) body.template operator()<T, 1, kFive>(i);
}

template <class T, class Body>
void each_vector(bool five, std::int64_t begin, std::int64_t end, const Body& body) {
  if (five) return walk_vectors<T, true>(begin, end, body);
  walk_vectors<T, false>(begin, end, body);
}

template <class V, class T>
inline constexpr std::int64_t kWidth = static_cast<std::int64_t>(sizeof(V) / sizeof(T));

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

// The channels one sum runs over. Five, which networks use, without a loop: half the instructions, and the
// compiler can keep several pixels' sums in registers.
template <class T>
struct Window {
  const T* from;
  std::int64_t count, step;

  template <class V, bool kFive, class Term>
  V sum(std::int64_t i, Term&& term) const {
    const T* at = from + i;
    auto next = [&](int k) { return term(simd::load_as<V>(at + k * step)); };
    if constexpr (kFive) return (next(0) + next(1)) + (next(2) + next(3)) + next(4);
    V all{};
    for (std::int64_t k = 0; k < count; ++k, at += step) all += next(0);
    return all;
  }
};

constexpr auto squared = [](auto v) { return v * v; };

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
      each_vector<T>(window.count == 5, begin, end, [=]<class V, int kCount, bool kFive>(std::int64_t i) {
        V s[kCount];
        for (int k = 0; k < kCount; ++k)
          s[k] = window.template sum<V, kFive>(i + k * kWidth<V, T>, squared) * factor + bias;
        for (V& v : s) v = inverse_powers<kQuarters>(v, beta).beta;
        for (int k = 0; k < kCount; ++k, i += kWidth<V, T>)
          simd::store(y + i, simd::load_as<V>(x + i) * s[k]);
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
      each_vector<T>(window.count == 5, begin, end, [=]<class V, int kCount, bool kFive>(std::int64_t i) {
        V s[kCount];
        for (int k = 0; k < kCount; ++k)
          s[k] = window.template sum<V, kFive>(i + k * kWidth<V, T>, squared) * factor + bias;
        Powers<V> powers[kCount];
        for (int k = 0; k < kCount; ++k) powers[k] = inverse_powers<kQuarters>(s[k], beta);
        for (int k = 0; k < kCount; ++k, i += kWidth<V, T>) {
          const V d = simd::load_as<V>(dy + i) * powers[k].beta;
          simd::store(dx + i, d);
          simd::store(part + (i - begin), simd::load_as<V>(x + i) * d * powers[k].one);
        }
      });
    }
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(c - p.after, 0);
      const std::int64_t last = std::min(c + p.before, p.channels - 1);
      const Window<T> window{parts + first * kStrip, last - first + 1, kStrip};
      const T* x = all_x + (row * p.channels + c) * p.plane;
      T* dx = out + (row * p.channels + c) * p.plane;
      each_vector<T>(window.count == 5, begin, end, [=]<class V, int kCount, bool kFive>(std::int64_t i) {
        for (int k = 0; k < kCount; ++k, i += kWidth<V, T>) {
          const V sum = window.template sum<V, kFive>(i - begin, std::identity{});
          simd::store(dx + i, simd::load_as<V>(dx + i) + simd::load_as<V>(x + i) * sum * slope);
        }
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
}  // namespace lrn_cpu_strips_cc

Launcher lrn_strips(const Problem& problem, const LaunchContext&) {
  using namespace lrn_cpu_strips_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const LrnProblem p = lrn_problem(problem);
    return with_quarters(p, [&]<int kQuarters>() -> Launcher {
      return [p](const LaunchArgs& a) { forward<T, kQuarters>(p, a.in<T>(0), a.out<T>(0)); };
    });
  });
}

Launcher lrn_grad_strips(const Problem& problem, const LaunchContext&) {
  using namespace lrn_cpu_strips_cc;
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    const LrnProblem p = lrn_problem(problem);
    return with_quarters(p, [&]<int kQuarters>() -> Launcher {
      return [p](const LaunchArgs& a) {
        backward<T, kQuarters>(p, a.in<T>(0), a.in<T>(1), a.out<T>(0), static_cast<T*>(a.workspace));
      };
    });
  });
}

std::size_t lrn_grad_workspace(const Problem& problem, const Target& target) {
  using namespace lrn_cpu_strips_cc;
  return static_cast<std::size_t>(target.device.threads * lrn_problem(problem).channels * kStrip) *
         size_of(problem.outputs[0].dtype);
}

}  // namespace headroom
