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

// x, but no longer part of the expression it came from: a product that is not to be fused with the sum after
// it. On Arm the fused instruction overwrites the summand, which has to be copied first if it is a constant.
template <class V>
inline V apart(V x) {
#if defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}

// x, loaded once: on x86-64 each use would otherwise read it from memory again.
template <class V>
inline V loaded(V x) {
#if defined(__x86_64__)
  asm("" : "+v"(x));
#endif
  return x;
}

template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}

// A NaN on either side wins, which is what Arm's instructions do. x86's take the second number where either
// is NaN, which is why the first is asked separately.
#if defined(__aarch64__)
inline Vec<float> max_or_nan(Vec<float> a, Vec<float> b) { return vmaxq_f32(a, b); }
inline Vec<double> max_or_nan(Vec<double> a, Vec<double> b) { return vmaxq_f64(a, b); }
#else
template <class V>
inline V max_or_nan(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}
#endif

// x cut to [low, high]; NaN stays NaN, and where low > high the result is high. The bounds are no NaN.
#if defined(__aarch64__)
inline Vec<float> cut(Vec<float> x, Vec<float> low, Vec<float> high) {
  return vminq_f32(vmaxq_f32(x, low), high);
}
inline Vec<double> cut(Vec<double> x, Vec<double> low, Vec<double> high) {
  return vminq_f64(vmaxq_f64(x, low), high);
}
#elif defined(__AVX512F__)
// With a mask of all lanes: without one, g++ 12 warns of an uninitialised variable in its own header.
inline Vec<float> cut(Vec<float> x, Vec<float> low, Vec<float> high) {
  return _mm512_maskz_min_ps(0xFFFF, high, _mm512_maskz_max_ps(0xFFFF, low, x));
}
inline Vec<double> cut(Vec<double> x, Vec<double> low, Vec<double> high) {
  return _mm512_maskz_min_pd(0xFF, high, _mm512_maskz_max_pd(0xFF, low, x));
}
#elif defined(__AVX__)
inline Vec<float> cut(Vec<float> x, Vec<float> low, Vec<float> high) {
  return _mm256_min_ps(high, _mm256_max_ps(low, x));
}
inline Vec<double> cut(Vec<double> x, Vec<double> low, Vec<double> high) {
  return _mm256_min_pd(high, _mm256_max_pd(low, x));
}
#else
inline Vec<float> cut(Vec<float> x, Vec<float> low, Vec<float> high) {
  return _mm_min_ps(high, _mm_max_ps(low, x));
}
inline Vec<double> cut(Vec<double> x, Vec<double> low, Vec<double> high) {
  return _mm_min_pd(high, _mm_max_pd(low, x));
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
inline Vec<float> sqrt(Vec<float> x) { return _mm512_maskz_sqrt_ps(0xFFFF, x); }
inline Vec<double> sqrt(Vec<double> x) { return _mm512_maskz_sqrt_pd(0xFF, x); }
#elif defined(__AVX__)
inline Vec<float> sqrt(Vec<float> x) { return _mm256_sqrt_ps(x); }
inline Vec<double> sqrt(Vec<double> x) { return _mm256_sqrt_pd(x); }
#else
inline Vec<float> sqrt(Vec<float> x) { return _mm_sqrt_ps(x); }
inline Vec<double> sqrt(Vec<double> x) { return _mm_sqrt_pd(x); }
#endif

// Is every lane of a comparison true?
template <class I>
inline bool all_true(I mask) {
#if defined(__aarch64__)
  return vminvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0;
#elif defined(__AVX512F__)
  return _mm512_cmpeq_epi32_mask(reinterpret_cast<__m512i>(mask), _mm512_setzero_si512()) == 0;
#elif defined(__AVX__)
  return _mm256_movemask_ps(reinterpret_cast<__m256>(mask)) == 0xFF;
#else
  return _mm_movemask_ps(reinterpret_cast<__m128>(mask)) == 0xF;
#endif
}

template <class T>
inline T sum(Vec<T> v) {
  T total = 0;
  for (int i = 0; i < kLanes<T>; ++i) total += v[i];
  return total;
}

// Asks for what a walk will read in a while. The processors' own guesses reach the first cache too late:
// on a Neoverse V1, leaky_relu of 1 MB takes 15 instead of 19 us for it.
inline constexpr std::int64_t kAheadBytes = 2048;
inline void fetch_ahead(const void* at) {
  __builtin_prefetch(static_cast<const char*>(at) + kAheadBytes, 0, 3);
}

// Applies f to n elements, a register at a time; the tail goes through padded registers. f comes by value:
// through a reference, each store might change what it has captured, which would be read again each time.
// kFlight registers at once: f may be one long chain of operations that wait for each other. Eight where f
// leaves that many registers free.
template <int kFlight = 4, class T, class F>
inline void map(std::int64_t n, const T* in, T* out, F f) {
  constexpr std::int64_t kStep = kLanes<T>;
  std::int64_t i = 0;
  for (; i + kFlight * kStep <= n; i += kFlight * kStep) {
    for (int k = 0; k < kFlight * kVectorBytes; k += 64)
      fetch_ahead(reinterpret_cast<const char*>(in + i) + k);
    Vec<T> v[kFlight];
    for (int k = 0; k < kFlight; ++k) v[k] = load(in + i + k * kStep);
    for (int k = 0; k < kFlight; ++k) v[k] = f(v[k]);
    for (int k = 0; k < kFlight; ++k) store(out + i + k * kStep, v[k]);
  }
  for (; i + kStep <= n; i += kStep) store(out + i, f(load(in + i)));
  if (i == n) return;
  alignas(kVectorBytes) T tail[kLanes<T>] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(T);
  std::memcpy(tail, in + i, bytes);
  store(tail, f(load(tail)));
  std::memcpy(out + i, tail, bytes);
}

// Four registers by `fast` where all their elements are `simple`, else, and at the end, by `careful`. Whoever
// splits work must split it at multiples of kCheckedBlock elements, or the bits depend on where.
inline constexpr std::int64_t kCheckedBlock = 1024;
template <class T, class Simple, class Fast, class Careful>
inline void map_checked(std::int64_t n, const T* in, T* out, Simple simple, Fast fast, Careful careful) {
  constexpr std::int64_t kStep = kLanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    for (int k = 0; k < 4 * kVectorBytes; k += 64) fetch_ahead(reinterpret_cast<const char*>(in + i) + k);
    const Vec<T> a = load(in + i), b = load(in + i + kStep), c = load(in + i + 2 * kStep),
                 d = load(in + i + 3 * kStep);
    if (!all_true((simple(a) & simple(b)) & (simple(c) & simple(d)))) {
      map(4 * kStep, in + i, out + i, careful);
      continue;
    }
    const Vec<T> first = fast(a), second = fast(b), third = fast(c), fourth = fast(d);
    store(out + i, first), store(out + i + kStep, second);
    store(out + i + 2 * kStep, third), store(out + i + 3 * kStep, fourth);
  }
  map(n - i, in + i, out + i, careful);
}

template <class T, class F>
inline void map2(std::int64_t n, const T* a, const T* b, T* out, F f) {
  constexpr std::int64_t kStep = kLanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    for (int k = 0; k < 4 * kVectorBytes; k += 64) {
      fetch_ahead(reinterpret_cast<const char*>(a + i) + k);
      fetch_ahead(reinterpret_cast<const char*>(b + i) + k);
    }
    Vec<T> v[4];
    for (int k = 0; k < 4; ++k) v[k] = f(load(a + i + k * kStep), load(b + i + k * kStep));
    for (int k = 0; k < 4; ++k) store(out + i + k * kStep, v[k]);
  }
  for (; i + kStep <= n; i += kStep) store(out + i, f(load(a + i), load(b + i)));
  if (i == n) return;
  alignas(kVectorBytes) T tail_a[kLanes<T>] = {}, tail_b[kLanes<T>] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(T);
  std::memcpy(tail_a, a + i, bytes);
  std::memcpy(tail_b, b + i, bytes);
  store(tail_a, f(load(tail_a), load(tail_b)));
  std::memcpy(out + i, tail_a, bytes);
}

template <class T, class F>
inline void map3(std::int64_t n, const T* a, const T* b, const T* c, T* out, F f) {
  constexpr std::int64_t kStep = kLanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    Vec<T> v[4];
    for (int k = 0; k < 4; ++k)
      v[k] = f(load(a + i + k * kStep), load(b + i + k * kStep), load(c + i + k * kStep));
    for (int k = 0; k < 4; ++k) store(out + i + k * kStep, v[k]);
  }
  for (; i + kStep <= n; i += kStep) store(out + i, f(load(a + i), load(b + i), load(c + i)));
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
