#pragma once

// Short vectors by the compiler's own extension: one source for AVX-512, AVX2 and NEON.

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headroom::simd {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Types {
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename Types<T>::Vec;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// The integer as wide as T: what comparisons yield and exponents are built from.
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

// Through unaligned vector types rather than memcpy, which g++ 12 takes through general registers.
typedef float UnalignedFloats __attribute__((vector_size(kVectorBytes), aligned(alignof(float)), may_alias));
typedef double UnalignedDoubles
    __attribute__((vector_size(kVectorBytes), aligned(alignof(double)), may_alias));

inline Vec<float> load(const float* from) { return *reinterpret_cast<const UnalignedFloats*>(from); }
inline Vec<double> load(const double* from) { return *reinterpret_cast<const UnalignedDoubles*>(from); }
inline void store(float* to, Vec<float> v) { *reinterpret_cast<UnalignedFloats*>(to) = v; }
inline void store(double* to, Vec<double> v) { *reinterpret_cast<UnalignedDoubles*>(to) = v; }

// For code that runs on registers and, at the end of a row, on numbers.
template <class V, class T>
inline V load_as(const T* from) {
  if constexpr (std::is_same_v<V, T>)
    return *from;
  else
    return load(from);
}
inline void store(float* to, float v) { *to = v; }
inline void store(double* to, double v) { *to = v; }

// As many numbers as a register of fp64 holds, widened. By intrinsic on Arm, where g++ 12 would convert one
// number after the other.
inline Vec<double> load_wide(const double* from) { return load(from); }
inline Vec<double> load_wide(const float* from) {
#if defined(__aarch64__)
  return vcvt_f64_f32(vld1_f32(from));
#else
  typedef float Half __attribute__((vector_size(kVectorBytes / 2), aligned(alignof(float)), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Half*>(from), Vec<double>);
#endif
}

// Twice as many.
struct WidePair {
  Vec<double> low, high;
};
template <class T>
inline WidePair load_wide_pair(const T* from) {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>) {
    const Vec<float> v = load(from);
    return {vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v)};
  }
#endif
  return {load_wide(from), load_wide(from + kLanes<double>)};
}

// x - 0 is x for every x, so this costs no arithmetic; x + 0 would (it turns -0 into 0).
template <class T>
inline Vec<T> broadcast(T x) {
  return x - Vec<T>{};
}

template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}

// A NaN on either side wins, which is what Arm's instruction does.
#if defined(__aarch64__)
inline Vec<float> max_or_nan(Vec<float> a, Vec<float> b) { return vmaxq_f32(a, b); }
inline Vec<double> max_or_nan(Vec<double> a, Vec<double> b) { return vmaxq_f64(a, b); }
#else
template <class V>
inline V max_or_nan(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}
#endif

// The integers that comparisons of Vec<T> yield.
template <class T>
using IntVec = Vec<IntOf<T>>;

template <class T>
inline IntVec<T> bits_of(Vec<T> v) {
  return reinterpret_cast<IntVec<T>>(v);
}
template <class T>
inline Vec<T> from_bits(IntVec<T> bits) {
  return reinterpret_cast<Vec<T>>(bits);
}

template <class T>
inline Vec<T> abs(Vec<T> x) {
  constexpr IntOf<T> kAllButTheSign = ~(IntOf<T>{1} << (8 * sizeof(T) - 1));
  return from_bits<T>(bits_of<T>(x) & kAllButTheSign);
}

// By intrinsics: std::sqrt may set errno, which keeps compilers from using the vector instruction.
#if defined(__aarch64__)
inline Vec<float> sqrt(Vec<float> x) { return vsqrtq_f32(x); }
inline Vec<double> sqrt(Vec<double> x) { return vsqrtq_f64(x); }
#elif defined(__AVX512F__)
inline Vec<float> sqrt(Vec<float> x) { return _mm512_sqrt_ps(x); }
inline Vec<double> sqrt(Vec<double> x) { return _mm512_sqrt_pd(x); }
#elif defined(__AVX__)
inline Vec<float> sqrt(Vec<float> x) { return _mm256_sqrt_ps(x); }
inline Vec<double> sqrt(Vec<double> x) { return _mm256_sqrt_pd(x); }
#else
inline Vec<float> sqrt(Vec<float> x) { return _mm_sqrt_ps(x); }
inline Vec<double> sqrt(Vec<double> x) { return _mm_sqrt_pd(x); }
#endif

template <class T>
inline T sum(Vec<T> v) {
  T total = 0;
  for (int i = 0; i < kLanes<T>; ++i) total += v[i];
  return total;
}

// Applies f to n elements, a register at a time; the tail goes through padded registers.
template <class T, class F>
inline void map(std::int64_t n, const T* in, T* out, F&& f) {
  std::int64_t i = 0;
  // Four at once: f may be one long chain of operations that wait for each other.
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>) {
    const Vec<T> a = f(load(in + i)), b = f(load(in + i + kLanes<T>)), c = f(load(in + i + 2 * kLanes<T>)),
                 d = f(load(in + i + 3 * kLanes<T>));
    store(out + i, a), store(out + i + kLanes<T>, b);
    store(out + i + 2 * kLanes<T>, c), store(out + i + 3 * kLanes<T>, d);
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, f(load(in + i)));
  if (i == n) return;
  alignas(kVectorBytes) T tail[kLanes<T>] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(T);
  std::memcpy(tail, in + i, bytes);
  store(tail, f(load(tail)));
  std::memcpy(out + i, tail, bytes);
}

template <class T, class F>
inline void map2(std::int64_t n, const T* a, const T* b, T* out, F&& f) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    const Vec<T> first = f(load(a + i), load(b + i)),
                 second = f(load(a + i + kLanes<T>), load(b + i + kLanes<T>));
    store(out + i, first), store(out + i + kLanes<T>, second);
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, f(load(a + i), load(b + i)));
  if (i == n) return;
  alignas(kVectorBytes) T tail_a[kLanes<T>] = {}, tail_b[kLanes<T>] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(T);
  std::memcpy(tail_a, a + i, bytes);
  std::memcpy(tail_b, b + i, bytes);
  store(tail_a, f(load(tail_a), load(tail_b)));
  std::memcpy(out + i, tail_a, bytes);
}

template <class T, class F>
inline void map3(std::int64_t n, const T* a, const T* b, const T* c, T* out, F&& f) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, f(load(a + i), load(b + i), load(c + i)));
  if (i == n) return;
  alignas(kVectorBytes) T tail[3][kLanes<T>] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(T);
  std::memcpy(tail[0], a + i, bytes);
  std::memcpy(tail[1], b + i, bytes);
  std::memcpy(tail[2], c + i, bytes);
  store(tail[0], f(load(tail[0]), load(tail[1]), load(tail[2])));
  std::memcpy(out + i, tail[0], bytes);
}

}  // namespace headroom::simd
