#pragma once

// Winograd's F(2x2, 3x3): four outputs from 16 products, where the definition has 36. A tile of the input,
// 4x4 pixels that step by 2, and the 3x3 filters are transformed by additions; the transformed numbers of
// each of the 16 places are one matrix product, maps x channels by channels x tiles; additions make 2x2
// outputs of its results. Each output is the same sums in the same order on any number of threads.

#include "ops/conv2d/cpu/pixel_lanes.h"
#include "ops/cpu/gemm_tile.h"

namespace headroom::winograd {

inline constexpr int kSide = 4, kPlaces = kSide * kSide;  // of a transformed tile
inline constexpr int kTaps = 9;
// A line of the cache between rows: else neighbours might all lie in the same set of it.
template <class T>
inline constexpr std::int64_t kLine = 64 / sizeof(T);
// Where a register can be stored in part at no cost, rows of tiles need no room for the rest.
#if defined(__AVX512F__)
inline constexpr bool kMasks = true;
#else
inline constexpr bool kMasks = false;
#endif

inline std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }
inline std::int64_t up(std::int64_t n, std::int64_t multiple) { return pieces(n, multiple) * multiple; }

// Tiles of a group are counted image by image and row by row.
template <class T>
struct Winograd {
  Conv2d c;         // of stride 1
  bool transposed;  // weights are those of the forward convolution, to be read transposed and flipped
  int threads;
  std::int64_t channels, maps;  // of a group
  Extent2d tiles;               // of an image
  std::int64_t panel;           // tiles that are multiplied at a time
  std::int64_t map_panel;       // maps that are multiplied at a time
  bool tiles_first;  // all tiles are transformed before filters are, a few maps at a time: there are fewer

  Winograd(const Conv2d& convolution, bool transpose, int max_threads);
  std::int64_t elements() const;  // of scratch
  std::int64_t panels() const;    // of a group's tiles
  void run(const T* x, const T* w, const pixels::Finish<T>& finish, T* y, T* workspace) const;

 private:
  struct Job {
    const T *x, *w;
    const pixels::Finish<T>& finish;
    T* y;
  };
  // Some tiles of a group, a panel at most.
  struct Tiles {
    std::int64_t group, first, last;
    std::int64_t count() const { return last - first; }
  };
  std::int64_t of_image() const { return tiles.h * tiles.w; }
  std::int64_t map_panels() const;
  std::int64_t maps_of(std::int64_t map_panel_index) const;
  std::int64_t phase() const { return tiles.w + 1; }  // even columns of a line that tiles read, or odd ones
  std::int64_t place_step() const;  // from one place of the transformed tiles, or of products, to the next
  std::int64_t row_step() const;    // from one channel, or map, to the next
  std::int64_t place_of_weights() const, weights_of_panel() const;
  std::int64_t shared_elements() const, panel_elements() const, product_elements() const,
      line_elements() const;
  std::int64_t of_thread() const { return panel_elements() + product_elements() + line_elements(); }
  Tiles tiles_of(std::int64_t panel_of_all) const;

  void transform_weights(const T* w, const T* scale, std::int64_t index, T* taps, T* to) const;
  void copy_lines(const Tiles& some, const T* x, T* lines) const;
  void transform_tiles(const Tiles& some, std::int64_t first_channel, std::int64_t last_channel, const T* x,
                       T* lines, T* to) const;
  void multiply(const Tiles& some, std::int64_t count, const T* weights, const T* transformed,
                T* products) const;
  void finish_map(const Tiles& some, std::int64_t map, const T* products, const pixels::Finish<T>& finish,
                  T* rows, T* y) const;
  void compute(const Tiles& some, std::int64_t map_panel_index, const T* weights, const T* transformed,
               const Job& job, T* products) const;
  void run_by_tiles(const Job& job, T* shared, T* own_of_all) const;
  void run_by_maps(const Job& job, T* shared, T* own_of_all) const;
  // Rows of tiles: body(place in the panel, count, image, row, column).
  template <class Body>
  void each_row(const Tiles& some, Body&& body) const;
};

}  // namespace headroom::winograd
