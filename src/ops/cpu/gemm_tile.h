#pragma once

// The inner loop of gemm, one version for each set of instructions, chosen when the program runs.

#include <cstdint>
#include <span>
#include <string_view>

namespace headroom::gemm_tile {

// Factors of one tile: a[rows, depth] and b[depth, columns]. Rows of b are whole vectors: elements behind the
// last column are read, and count for nothing.
template <class T>
struct Factors {
  const T* a;
  std::int64_t a_row, a_term;  // steps from row to row and from term to term; one of them is 1
  const T* b;
  std::int64_t b_term;
  const T* next_a;  // kFetched elements for each term, from here on, go to the second-level cache meanwhile
};
inline constexpr std::int64_t kFetched = 2;

// c[rows, columns] = alpha a b + beta c with sums in registers; c is not read if beta is 0. Every sum adds
// its terms in their order, whatever the extents of the tile are.
template <class T>
struct Tile {
  int rows = 0, columns = 0;  // at most
  int lanes = 0;              // of a vector
  int term_bytes = 1536;      // of a line of a factor that is packed at a time
  void (*multiply)(int rows, int columns, std::int64_t depth, const Factors<T>& factors, T alpha, T beta,
                   T* c, std::int64_t ldc) = nullptr;
  // to[t * width + l] = from[l * line_step + t] for l < lines, 0 from there to `width`: a factor as tiles
  // read it, where terms of a line lie side by side.
  void (*pack)(const T* from, std::int64_t line_step, std::int64_t lines, std::int64_t terms,
               std::int64_t width, T* to) = nullptr;
};

struct Version {
  std::string_view name;  // "avx512"
  Tile<float> f32;
  Tile<double> f64;
};

// Those that this processor has, fastest first; the last needs no particular instructions.
std::span<const Version> versions();
const Version& version_named(std::string_view name);  // rejects a name that this processor does not have
// The one that all products use: the first, unless another was named before the first product.
const Version& used();
template <class T>
const Tile<T>& used_tile() {
  if constexpr (sizeof(T) == 4)
    return used().f32;
  else
    return used().f64;
}
void use(std::string_view name);

}  // namespace headroom::gemm_tile
