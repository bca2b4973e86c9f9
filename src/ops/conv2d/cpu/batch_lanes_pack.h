#pragma once

// Images to lanes of registers and back. Part of batch_lanes.h.

#include <algorithm>
#include <cstring>

#include "ops/cpu/interleave.h"
#include "ops/cpu/lanes.h"

namespace headroom::lanes {

// One block in lane order: planes x rows x padded columns x lanes. Columns are padded with zeros, rows are
// skipped.
struct Plane {
  std::int64_t rows, columns, left, stride;  // stride: columns with their padding
  std::int64_t elements() const { return rows * stride; }
};

// Transposes a square held in registers: each round interleaves its two halves.
template <class T>
inline void transpose(simd::Vec<T> (&r)[simd::kLanes<T>]) {
  constexpr int L = simd::kLanes<T>;
  constexpr std::make_index_sequence<L> kAll{};
#pragma GCC unroll 4
  for (int round = 1; round < L; round *= 2) {
    simd::Vec<T> next[L];
#pragma GCC unroll 8
    for (int l = 0; l < L / 2; ++l) {
      next[2 * l] = simd::interleave_first(r[l], r[l + L / 2], kAll);
      next[2 * l + 1] = simd::interleave_second(r[l], r[l + L / 2], kAll);
    }
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) r[l] = next[l];
  }
}

// Squares of `count` elements of `images` images; kWhole: both are as many as there are lanes.
template <class T, bool kWhole>
inline void pack_square(std::int64_t count, const T* from, std::int64_t distance, std::int64_t images,
                        T* to) {
  constexpr int L = simd::kLanes<T>;
  simd::Vec<T> r[L];
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l, from += distance) {
    if constexpr (kWhole)
      r[l] = simd::load(from);
    else
      r[l] = l < images ? simd::load_some(from, count) : simd::Vec<T>{};
  }
  transpose<T>(r);
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l)
    if (kWhole || l < count) simd::store(to + l * L, r[l]);
}

template <class T, bool kWhole>
inline void unpack_square(std::int64_t count, const T* from, T* to, std::int64_t distance,
                          std::int64_t images) {
  constexpr int L = simd::kLanes<T>;
  simd::Vec<T> r[L];
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l) r[l] = kWhole || l < count ? simd::load(from + l * L) : simd::Vec<T>{};
  transpose<T>(r);
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l, to += distance) {
    if constexpr (kWhole)
      simd::store(to, r[l]);
    else if (l < images)
      simd::store_some(to, r[l], count);
  }
}

// n elements of `images` images, `distance` apart, to n vectors; absent images become zero lanes.
template <class T>
void pack(std::int64_t n, const T* from, std::int64_t distance, std::int64_t images, T* to) {
  constexpr int L = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; images == L && i + L <= n; i += L) pack_square<T, true>(L, from + i, distance, L, to + i * L);
  for (; i < n; i += L)
    pack_square<T, false>(std::min<std::int64_t>(L, n - i), from + i, distance, images, to + i * L);
}

template <class T>
void unpack(std::int64_t n, const T* from, T* to, std::int64_t distance, std::int64_t images) {
  constexpr int L = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; images == L && i + L <= n; i += L) unpack_square<T, true>(L, from + i * L, to + i, distance, L);
  for (; i < n; i += L)
    unpack_square<T, false>(std::min<std::int64_t>(L, n - i), from + i * L, to + i, distance, images);
}

// `planes` planes of a block of images into padded lane order.
template <class T>
void pack_planes(const Plane& plane, std::int64_t planes, const T* from, std::int64_t distance,
                 std::int64_t images, T* to) {
  constexpr int L = simd::kLanes<T>;
  if (plane.stride == plane.columns) return pack(planes * plane.elements(), from, distance, images, to);
  const std::int64_t right = plane.stride - plane.left - plane.columns;
  for (std::int64_t row = 0; row < planes * plane.rows; ++row) {
    T* line = to + row * plane.stride * L;
    std::memset(line, 0, static_cast<std::size_t>(plane.left * L) * sizeof(T));
    pack(plane.columns, from + row * plane.columns, distance, images, line + plane.left * L);
    std::memset(line + (plane.left + plane.columns) * L, 0, static_cast<std::size_t>(right * L) * sizeof(T));
  }
}

}  // namespace headroom::lanes
