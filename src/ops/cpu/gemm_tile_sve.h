#pragma once

// The inner loop of gemm for SVE, whose vectors are as long as the processor makes them. The language has no
// arrays of such vectors, so every sum has a name.

#include <arm_sve.h>

#include "ops/cpu/gemm_pack.h"
#include "ops/cpu/gemm_tile.h"

namespace headroom::gemm_tile::sve {

#define HEADROOM_SVE __attribute__((target("+sve")))

inline constexpr int kRows = 8, kVectors = 3;  // 24 of 32 registers

template <class T>
struct Vectors;
template <>
struct Vectors<float> {
  using Vec = svfloat32_t;
  HEADROOM_SVE static svbool_t all() { return svptrue_b32(); }
  HEADROOM_SVE static svbool_t first(std::int64_t count) { return svwhilelt_b32(std::int64_t{0}, count); }
  HEADROOM_SVE static std::int64_t lanes() { return static_cast<std::int64_t>(svcntw()); }
  HEADROOM_SVE static Vec same(float value) { return svdup_f32(value); }
};
template <>
struct Vectors<double> {
  using Vec = svfloat64_t;
  HEADROOM_SVE static svbool_t all() { return svptrue_b64(); }
  HEADROOM_SVE static svbool_t first(std::int64_t count) { return svwhilelt_b64(std::int64_t{0}, count); }
  HEADROOM_SVE static std::int64_t lanes() { return static_cast<std::int64_t>(svcntd()); }
  HEADROOM_SVE static Vec same(double value) { return svdup_f64(value); }
};

// One vector of sums to those of its columns that are there.
template <class T>
HEADROOM_SVE inline void store(typename Vectors<T>::Vec sum, std::int64_t columns, T alpha, T beta, T* c) {
  const svbool_t there = Vectors<T>::first(columns);
  typename Vectors<T>::Vec scaled = svmul_x(there, sum, alpha);
  if (beta != 0) scaled = svmla_x(there, scaled, svld1(there, c), beta);
  svst1(there, c, scaled);
}

#define HEADROOM_EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define HEADROOM_SUMS(r) Vec sum##r##0 = zero, sum##r##1 = zero, sum##r##2 = zero;
#define HEADROOM_ADD(r)                                                      \
  if constexpr (r < kCount) {                                                \
    const Vec one = V::same(a[r * a_row]);                                   \
    sum##r##0 = svmla_x(all, sum##r##0, one, b0);                            \
    if constexpr (kAcross > 1) sum##r##1 = svmla_x(all, sum##r##1, one, b1); \
    if constexpr (kAcross > 2) sum##r##2 = svmla_x(all, sum##r##2, one, b2); \
  }
#define HEADROOM_STORE(r)                                                                              \
  if constexpr (r < kCount) {                                                                          \
    store<T>(sum##r##0, columns, alpha, beta, c + r * ldc);                                            \
    if constexpr (kAcross > 1) store<T>(sum##r##1, columns - lanes, alpha, beta, c + r * ldc + lanes); \
    if constexpr (kAcross > 2)                                                                         \
      store<T>(sum##r##2, columns - 2 * lanes, alpha, beta, c + r * ldc + 2 * lanes);                  \
  }

template <class T, int kCount, int kAcross>
HEADROOM_SVE void multiply(std::int64_t columns, std::int64_t depth, const Factors<T>& f, T alpha, T beta,
                           T* c, std::int64_t ldc) {
  using V = Vectors<T>;
  using Vec = typename V::Vec;
  const svbool_t all = V::all();
  const std::int64_t lanes = V::lanes(), a_row = f.a_row, a_term = f.a_term, b_term = f.b_term;
  const T *a = f.a, *b = f.b;
  const Vec zero = V::same(0);
  HEADROOM_EACH_ROW(HEADROOM_SUMS)
  for (std::int64_t t = 0; t < depth; ++t, a += a_term, b += b_term) {
    const Vec b0 = svld1(all, b), b1 = kAcross > 1 ? svld1(all, b + lanes) : b0,
              b2 = kAcross > 2 ? svld1(all, b + 2 * lanes) : b0;
    HEADROOM_EACH_ROW(HEADROOM_ADD)
  }
  HEADROOM_EACH_ROW(HEADROOM_STORE)
}

#undef HEADROOM_STORE
#undef HEADROOM_ADD
#undef HEADROOM_SUMS
#undef HEADROOM_EACH_ROW

// By counts known while compiling.
template <class T, int kCount, int kAcross>
void multiply_some(int rows, int columns, std::int64_t depth, const Factors<T>& f, T alpha, T beta, T* c,
                   std::int64_t ldc) {
  if constexpr (kCount > 1)
    if (rows < kCount)
      return multiply_some<T, kCount - 1, kAcross>(rows, columns, depth, f, alpha, beta, c, ldc);
  if constexpr (kAcross > 1)
    if (columns <= (kAcross - 1) * Vectors<T>::lanes())
      return multiply_some<T, kCount, kAcross - 1>(rows, columns, depth, f, alpha, beta, c, ldc);
  multiply<T, kCount, kAcross>(columns, depth, f, alpha, beta, c, ldc);
}

template <class T>
Tile<T> tile() {
  const auto lanes = static_cast<int>(Vectors<T>::lanes());
  return {kRows, kVectors * lanes, lanes, 1536, multiply_some<T, kRows, kVectors>, pack_squares<T>};
}

inline Version version(std::string_view name) { return {name, tile<float>(), tile<double>()}; }

#undef HEADROOM_SVE

}  // namespace headroom::gemm_tile::sve
