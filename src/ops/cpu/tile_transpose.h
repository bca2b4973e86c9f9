#pragma once

// One tile of a transposition. Squares of registers are turned; a line of the result is written whole.

#include <cstdint>
#include <cstring>

namespace headroom {

inline constexpr std::int64_t kTileRows = 64, kTileColumns = 64;
inline constexpr std::int64_t kTile = kTileRows * kTileColumns;  // 16 KiB of fp32

// A square that fits in registers: to[i][j] = from[j][i]. Sides of 1 where there is nothing better.
template <class T>
inline constexpr int kSquare = sizeof(T) == 4   ? 4
                               : sizeof(T) == 8 ? 2
                                                : 1;

template <class T>
inline void transpose_square(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  if constexpr (kSquare<T> == 1) {
    *to = *from;
  } else {
    // Loads by an unaligned type: g++ 12 takes a memcpy through general registers.
    typedef T Vec __attribute__((vector_size(16)));
    typedef T Unaligned __attribute__((vector_size(16), aligned(1), may_alias));
    Vec row[kSquare<T>], out[kSquare<T>];
    for (int j = 0; j < kSquare<T>; ++j) row[j] = *reinterpret_cast<const Unaligned*>(from + j * from_row);
    if constexpr (kSquare<T> == 2) {
      out[0] = __builtin_shufflevector(row[0], row[1], 0, 2);
      out[1] = __builtin_shufflevector(row[0], row[1], 1, 3);
    } else {
      const Vec a = __builtin_shufflevector(row[0], row[2], 0, 4, 1, 5),
                b = __builtin_shufflevector(row[0], row[2], 2, 6, 3, 7),
                c = __builtin_shufflevector(row[1], row[3], 0, 4, 1, 5),
                d = __builtin_shufflevector(row[1], row[3], 2, 6, 3, 7);
      out[0] = __builtin_shufflevector(a, c, 0, 4, 1, 5);
      out[1] = __builtin_shufflevector(a, c, 2, 6, 3, 7);
      out[2] = __builtin_shufflevector(b, d, 0, 4, 1, 5);
      out[3] = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    }
    for (int i = 0; i < kSquare<T>; ++i) *reinterpret_cast<Unaligned*>(to + i * to_row) = out[i];
  }
}

// to[i * to_row + j] = from[j * from_row + i] for i < rows, j < columns; rows * columns <= kTile.
template <class T>
void transpose_direct(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_row, T* to,
                      std::int64_t to_row) {
  constexpr std::int64_t kSide = kSquare<T>, kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kLine * kLine;
  for (std::int64_t j = 0; j < whole_columns; j += kLine) {
    for (std::int64_t i = 0; i < whole_rows; i += kSide)
      for (std::int64_t k = j; k < j + kLine; k += kSide)
        transpose_square(from + k * from_row + i, from_row, to + i * to_row + k, to_row);
    for (std::int64_t i = whole_rows; i < rows; ++i)
      for (std::int64_t k = j; k < j + kLine; ++k) to[i * to_row + k] = from[k * from_row + i];
  }
  for (std::int64_t i = 0; i < rows && whole_columns < columns; ++i)
    for (std::int64_t k = whole_columns; k < columns; ++k) to[i * to_row + k] = from[k * from_row + i];
}

// The same where rows of the result follow each other: they leave a buffer in one piece, however short they
// are. The next tile reads on in the same rows, more of them than a prefetcher follows by itself.
template <class T>
void transpose_buffered(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_row,
                        T* to) {
  constexpr std::int64_t kSide = kSquare<T>, kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  alignas(64) T buffer[kTile];
  const std::int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (std::int64_t j = 0; j < whole_columns; j += kSide) {
    for (std::int64_t k = j; k < j + kSide; ++k)
      for (std::int64_t i = rows; i < 2 * rows; i += kLine) __builtin_prefetch(from + k * from_row + i);
    for (std::int64_t i = 0; i < whole_rows; i += kSide)
      transpose_square(from + j * from_row + i, from_row, buffer + i * columns + j, columns);
    for (std::int64_t i = whole_rows; i < rows; ++i)
      for (std::int64_t k = j; k < j + kSide; ++k) buffer[i * columns + k] = from[k * from_row + i];
  }
  for (std::int64_t j = whole_columns; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) buffer[i * columns + j] = from[j * from_row + i];
  std::memcpy(to, buffer, static_cast<std::size_t>(rows * columns) * sizeof(T));
}

template <class T>
void transpose_tile(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_row, T* to,
                    std::int64_t to_row) {
  if (to_row == columns)
    transpose_buffered(rows, columns, from, from_row, to);
  else
    transpose_direct(rows, columns, from, from_row, to, to_row);
}

}  // namespace headroom
