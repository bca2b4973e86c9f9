#pragma once

// Direct convolution with neighbouring pixels of a row in the lanes of a SIMD register: for one image as for
// many. Each output is one sum over k = (channel, tap), in this order, whoever computes it: a tile of maps x
// registers of pixels stays in registers over a block of k, and every factor is read at an offset that k
// alone decides.

#include <limits>
#include <vector>

#include "ops/conv2d/conv2d.h"
#include "ops/cpu/image_shares.h"
#include "ops/cpu/simd.h"

namespace headroom::pixels {

// Registers of sums: 8 x 3 leave seven of 32 for factors, 4 x 3 leave three of 16.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kTileMaps = 8;
#else
inline constexpr int kTileMaps = 4;
#endif
inline constexpr int kTileRegisters = 3;
// Tiles of 12 x 2, where 8 x 3 would leave more maps idle; 0: none, because they were not measured there.
#if defined(__AVX512F__)
inline constexpr int kWideTileMaps = 12;
#else
inline constexpr int kWideTileMaps = 0;
#endif
inline constexpr int kMaxRegisters = 8;  // of tiles with fewer maps
// From so many tiles of maps on it pays to gather a panel's pixels, which then lie side by side.
inline constexpr std::int64_t kGatherTiles = 4;
// Maps whose weights stay in the second cache: pixels are gathered once for each block of them.
inline constexpr std::int64_t kMapBlock = 256;

// How the tiles find what they multiply.
struct Source {
  enum class Form {
    as_it_is,  // one tap per pixel: the image itself is the matrix
    padded,    // a copy with its padding, the columns of a stride apart: each tap reads a row straight on
    dense      // such a copy, gathered across the ends of rows: short rows leave no lanes idle
  };
  Form form = Form::as_it_is;
  std::int64_t rows = 1, width = 1;  // of the output, as it is walked
  std::int64_t pitch = 0;            // from one output row's pixels to the next one's
  std::int64_t channel = 0;          // elements of a channel of the copy
  std::int64_t channels = 0;         // of a group's copy
  std::int64_t line = 0, phase = 0;  // padded: elements of an input row, and of one column of the stride
  std::vector<std::int64_t> offset;  // by k
  std::int64_t slack = 0;            // elements behind the copy that registers may read
  std::int64_t elements() const { return form == Form::as_it_is ? 0 : channels * channel + slack; }
};

// The form that costs least, by registers of so many lanes.
Source source_of(const Conv2d& c, std::int64_t lanes);
std::int64_t registers_of(std::int64_t rows, std::int64_t width, std::int64_t lanes);  // of rows of pixels
// The padded copy of a group of a convolution; with rows that end where the last tap reads; none at all.
Source padded_source(const Conv2d& c, std::int64_t lanes);
Source dense_source(const Conv2d& c, std::int64_t lanes);
Source pointwise_source(const Conv2d& c);
// Channels [begin, end) of the copy of one group.
template <class T>
void copy_channels(const Conv2d& c, const Source& source, const T* x, std::int64_t begin, std::int64_t end,
                   T* to);
// First i >= 0 with i * stride + offset >= bound.
std::int64_t first_at(std::int64_t bound, std::int64_t offset, std::int64_t stride);

// What becomes of a sum: y = cut(start + sum + residual).
template <class T>
struct Finish {
  const T* scale = nullptr;     // by map, into the weights as they are packed
  const T* start = nullptr;     // by map; never null when it runs
  const T* residual = nullptr;  // as y
  T low = -std::numeric_limits<T>::infinity(), high = std::numeric_limits<T>::infinity();
};

// Of any of the operators; scale and start are made in `scratch`, which holds finish_elements.
template <class T>
Finish<T> finish_of(const Conv2d& c, const LaunchArgs& args, T* scratch);
inline std::int64_t finish_elements(const Conv2d& c) { return 2 * std::max(c.maps, c.channels); }
// Is it done where a sum is finished?
inline bool is_cut(Activation activation) {
  return activation == Activation::none || activation == Activation::relu;
}
// Activations that are no cut.
template <class T>
void squeeze(const Conv2d& c, T* y);

template <class T>
struct Tile;

// Elements of scratch.
struct Scratch {
  std::int64_t shared, per_thread;
  std::int64_t weights, panel, results;  // parts of a thread's; results are those to be pooled
};

template <class T>
struct PixelLanes {
  Conv2d c;
  bool transposed = false;  // weights are those of the forward convolution, to be read transposed and flipped
  int threads = 1;
  Source source;
  PixelLanes(const Conv2d& convolution, bool transpose, int max_threads);

  Scratch scratch() const;
  bool each_alone() const;  // threads take whole groups of an image, but for the last ones
  ImageShares shares(int team) const;
  void run(const T* x, const T* w, const Finish<T>& finish, T* y, T* workspace) const;

 private:
  // Which outputs: of one group of one image, so many maps, so many registers of pixels. Results lie in
  // planes, from the row of the first pixel on.
  struct Part {
    std::int64_t group;
    std::int64_t first_map, last_map;  // within the group
    std::int64_t first_register, last_register;
    std::int64_t first_row, plane;
    std::int64_t first_k = 0, last_k = 0;
  };
  // One image's group.
  struct Item {
    std::int64_t group;
    const T *x, *w;
    Finish<T> finish;
    T* y;
  };
  struct Maps {
    std::int64_t begin, end;
  };
  Item item_at(std::int64_t i, const T* x, const T* w, const Finish<T>& finish, T* y) const;
  std::int64_t registers() const;
  bool has_bands() const;
  std::int64_t band_rows() const;     // rows of pooled pixels whose results a thread holds at a time
  std::int64_t held_results() const;  // of a thread
  std::int64_t units() const;         // into which the pixels of a group can be divided
  void run_units(const Item& item, Maps maps, std::int64_t begin, std::int64_t end, T* scratch) const;
  void run_alone(const T* x, const T* w, const Finish<T>& finish, T* y, T* workspace) const;
  void run_together(Item item, T* workspace) const;

  void pack_weights(const T* w, const Finish<T>& finish, const Part& part, T* to) const;
  void gather_across(const T* x, Tile<T>& tile, std::int64_t first, int registers, T* panel) const;
  void compute(const T* x, const T* w, const Finish<T>& finish, Part part, T* y, T* scratch) const;
};

// The input gradient of a convolution of stride 1 as a convolution: dy is the input, channels and maps change
// places, the padding is what is left of the window beyond the old one.
Conv2d input_gradient_as_conv(const Conv2d& c);

}  // namespace headroom::pixels
