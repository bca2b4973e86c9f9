// The loops of Winograd's convolution, and how threads share them out.
#include <algorithm>
#include <utility>

#include "ops/conv2d/cpu/pixel_tile.h"
#include "ops/conv2d/cpu/winograd.h"
#include "ops/cpu/packed_memory.h"
#include "ops/cpu/parallel.h"
#include "ops/pool/cpu/pairs.h"

namespace headroom::winograd {
namespace conv2d_cpu_winograd_run_cc {
namespace {

constexpr int kTaps = 9;
// A line of the cache between rows: else neighbours might all lie in the same set of it.
template <class T>
constexpr std::int64_t kLine = 64 / sizeof(T);
// Where a register can be stored in part at no cost, rows of tiles need no room for the rest.
#if defined(__AVX512F__)
constexpr bool kMasks = true;
#else
constexpr bool kMasks = false;
#endif

std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }
std::int64_t up(std::int64_t n, std::int64_t multiple) { return pieces(n, multiple) * multiple; }

template <class T>
const gemm_tile::Tile<T>& tile() {
  if constexpr (sizeof(T) == 4)
    return gemm_tile::used().f32;
  else
    return gemm_tile::used().f64;
}

// The same address, but one that the compiler cannot take for the last one and a step: it would keep a
// pointer for each of 16 places, in memory.
template <class T>
[[gnu::always_inline]] inline T* fresh(T* address) {
  asm("" : "+r"(address));
  return address;
}

// B^T d of four numbers that lie `step` apart.
template <class V>
[[gnu::always_inline]] inline void of_input(V* d, int step) {
  const V first = d[0] - d[2 * step], sum = d[step] + d[2 * step], difference = d[2 * step] - d[step],
          last = d[step] - d[3 * step];
  d[0] = first, d[step] = sum, d[2 * step] = difference, d[3 * step] = last;
}

// G g: three numbers become four.
template <class V>
[[gnu::always_inline]] inline void of_filter(const V* g, int step, V* to, int to_step) {
  const V ends = g[0] + g[2 * step];
  to[0] = g[0], to[3 * to_step] = g[2 * step];
  to[to_step] = (ends + g[step]) * 0.5F, to[2 * to_step] = (ends - g[step]) * 0.5F;
}

// Transforms a register of tiles: 16 places, `step` apart. kSome: only `room` lanes are stored.
template <class T, bool kSome>
[[gnu::always_inline]] inline void transform_register(const T* from, std::int64_t phase, std::int64_t room,
                                                      T* to, std::int64_t step) {
  simd::Vec<T> d[kPlaces];
#pragma GCC unroll 4
  for (int row = 0; row < kSide; ++row, from = fresh(from + 2 * phase)) {
    d[row * kSide] = simd::load(from), d[row * kSide + 1] = simd::load(from + phase);
    d[row * kSide + 2] = simd::load(from + 1), d[row * kSide + 3] = simd::load(from + phase + 1);
  }
#pragma GCC unroll 4
  for (int column = 0; column < kSide; ++column) of_input(d + column, kSide);
#pragma GCC unroll 4
  for (int row = 0; row < kSide; ++row) of_input(d + row * kSide, 1);
#pragma GCC unroll 16
  for (int place = 0; place < kPlaces; ++place, to = fresh(to + step))
    if constexpr (kSome)
      simd::store_some(to, d[place], room);
    else
      simd::store(to, d[place]);
}

// The four outputs of a register of tiles, from products that lie `step` apart.
template <class T>
struct Outputs {
  simd::Vec<T> at[2][2];
};
template <class T>
[[gnu::always_inline]] inline Outputs<T> outputs_of(const T* products, std::int64_t step, T start) {
  simd::Vec<T> upper[kSide], lower[kSide];
#pragma GCC unroll 4
  for (int column = 0; column < kSide; ++column) {
    const auto product = [&](int row) { return simd::load(products + (row * kSide + column) * step); };
    const simd::Vec<T> middle = product(1), next = product(2);
    upper[column] = product(0) + middle + next, lower[column] = middle - next - product(3);
  }
  const simd::Vec<T> begin = simd::broadcast<T>(start);
  const auto left = [&](const simd::Vec<T>* v) { return v[0] + v[1] + v[2] + begin; };
  const auto right = [&](const simd::Vec<T>* v) { return v[1] - v[2] - v[3] + begin; };
  return {{{left(upper), right(upper)}, {left(lower), right(lower)}}};
}

template <class T>
simd::Vec<T> pooled(BlockPool::Kind kind, const Outputs<T>& y, simd::Vec<T> low, simd::Vec<T> high) {
  const simd::Vec<T> a = simd::cut(y.at[0][0], low, high), b = simd::cut(y.at[0][1], low, high),
                     c = simd::cut(y.at[1][0], low, high), d = simd::cut(y.at[1][1], low, high);
  if (kind == BlockPool::Kind::max) return simd::max_or_nan(simd::max_or_nan(a, b), simd::max_or_nan(c, d));
  return ((a + b) + (c + d)) * T{0.25};
}

// A row of results to y: residual and cut, unless that is done.
template <class T>
void store_row(std::int64_t count, const T* from, const T* residual, bool cuts, simd::Vec<T> low,
               simd::Vec<T> high, T* to) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  for (std::int64_t i = 0; i < count; i += kL) {
    const std::int64_t some = std::min(kL, count - i);
    simd::Vec<T> v = simd::load(from + i);
    if (residual != nullptr) v += simd::load_some(residual + i, some);
    if (cuts) v = simd::cut(v, low, high);
    simd::store_some(to + i, v, some);
  }
}

}  // namespace
}  // namespace conv2d_cpu_winograd_run_cc

template <class T>
Winograd<T>::Winograd(const Conv2d& convolution, bool transpose, int max_threads)
    : c(convolution),
      transposed(transpose),
      threads(max_threads),
      channels(c.group_channels()),
      maps(c.group_maps()) {
  using namespace conv2d_cpu_winograd_run_cc;
  tiles = {pieces(c.window.output.h, 2), pieces(c.window.output.w, 2)};
  const std::int64_t columns = tile<T>().columns, rows = tile<T>().rows,
                     bytes = channels * kPlaces * columns * std::int64_t{sizeof(T)},
                     blocks = pieces(c.batch * of_image(), columns), filters = pieces(maps, rows);
  // Tiles that leave the second-level cache are read again for every panel of maps.
  const bool few_tiles = 8 * blocks * columns <= maps;
  tiles_first = blocks * columns < maps && (blocks * bytes <= packed::group_bytes() || few_tiles);
  // As many tiles as stay in the second-level cache; where there are enough, some for each thread.
  const std::int64_t most = std::clamp<std::int64_t>(packed::group_bytes() / bytes, 1, 4),
                     least = tiles_first ? 1 : std::min<std::int64_t>(blocks, threads);
  panel = pieces(blocks, std::max(pieces(blocks, most), least)) * columns;
  while (panel % simd::kLanes<T> != 0) panel += columns;
  // The same number of maps for each thread, unless that makes narrow tiles.
  map_panel = pieces(maps, filters);
  if (tiles_first) map_panel = std::max(pieces(maps, up(filters, threads)), (rows + 1) / 2);
}

template <class T>
std::int64_t Winograd<T>::panels() const {
  return conv2d_cpu_winograd_run_cc::pieces(c.batch * of_image(), panel);
}

template <class T>
std::int64_t Winograd<T>::map_panels() const {
  return conv2d_cpu_winograd_run_cc::pieces(maps, map_panel);
}

template <class T>
std::int64_t Winograd<T>::maps_of(std::int64_t index) const {
  return std::min(map_panel, maps - index * map_panel);
}

// The last register of a panel may write behind it.
template <class T>
std::int64_t Winograd<T>::place_step() const {
  return panel + (conv2d_cpu_winograd_run_cc::kMasks ? 0 : simd::kLanes<T>);
}

// Rows of all places.
template <class T>
std::int64_t Winograd<T>::row_step() const {
  return kPlaces * place_step() + conv2d_cpu_winograd_run_cc::kLine<T>;
}

template <class T>
std::int64_t Winograd<T>::place_of_weights() const {
  return channels * map_panel + conv2d_cpu_winograd_run_cc::kLine<T>;
}

template <class T>
std::int64_t Winograd<T>::weights_of_panel() const {
  return kPlaces * place_of_weights();
}

// Of the factor that is transformed as a whole.
template <class T>
std::int64_t Winograd<T>::shared_elements() const {
  using namespace conv2d_cpu_winograd_run_cc;
  return c.groups * up(tiles_first ? panels() * channels * row_step() : map_panels() * weights_of_panel(),
                       simd::kLanes<T>);
}

// Of a thread: a panel of the other factor, and products; before them, the filters of some maps.
template <class T>
std::int64_t Winograd<T>::panel_elements() const {
  return conv2d_cpu_winograd_run_cc::up(tiles_first ? weights_of_panel() : channels * row_step(),
                                        simd::kLanes<T>);
}
template <class T>
std::int64_t Winograd<T>::product_elements() const {
  using namespace conv2d_cpu_winograd_run_cc;
  constexpr std::int64_t kL = simd::kLanes<T>;
  return up(std::max(map_panel * row_step(), kTaps * map_panel * channels + kL), kL);
}

// The lines of a channel that tiles of a panel read; later two rows of outputs. Registers read behind them.
template <class T>
std::int64_t Winograd<T>::line_elements() const {
  using namespace conv2d_cpu_winograd_run_cc;
  const std::int64_t rows = pieces(panel, tiles.w) + 1, images = pieces(panel, of_image()) + 1;
  return up(std::max(4 * (rows + images) * phase(), 4 * panel), simd::kLanes<T>) + 2 * simd::kLanes<T>;
}

template <class T>
std::int64_t Winograd<T>::elements() const {
  return shared_elements() + threads * of_thread();
}

template <class T>
template <class Body>
void Winograd<T>::each_row(const Tiles& some, Body&& body) const {
  std::int64_t column = some.first % tiles.w, row = some.first / tiles.w % tiles.h,
               image = some.first / of_image();
  for (std::int64_t at = 0; at < some.count(); column = 0) {
    const std::int64_t count = std::min(some.count() - at, tiles.w - column);
    body(at, count, image, row, column);
    at += count;
    if (++row == tiles.h) row = 0, ++image;
  }
}

// The filters of one panel of maps, as tiles of products read them: to[place][channel][map].
template <class T>
void Winograd<T>::transform_weights(const T* w, const T* scale, std::int64_t index, T* taps, T* to) const {
  using namespace conv2d_cpu_winograd_run_cc;
  constexpr std::int64_t kL = simd::kLanes<T>;
  const std::int64_t group = index / map_panels(), own = maps_of(index % map_panels()),
                     first = group * maps + index % map_panels() * map_panel, step = place_of_weights();
  // taps[channel][tap][map]
  if (!transposed)
    tile<T>().pack(w + first * channels * kTaps, channels * kTaps, own, channels * kTaps, own, taps);
  for (std::int64_t k = 0; k < channels && transposed; ++k)
    tile<T>().pack(w + (k * maps + first + group * (channels - 1) * maps) * kTaps, kTaps, own, kTaps, own,
                   taps + k * kTaps * own);
  for (std::int64_t k = 0; k < channels; ++k)
    for (std::int64_t m = 0; m < own; m += kL) {
      const std::int64_t some = std::min(kL, own - m);
      const simd::Vec<T> factor =
          scale == nullptr ? simd::broadcast<T>(1) : simd::load_some(scale + first + m, some);
      const T* from = taps + k * kTaps * own + m;
      simd::Vec<T> g[kTaps], half[3 * kSide], whole[kPlaces];
#pragma GCC unroll 9
      for (int tap = 0; tap < kTaps; ++tap, from = fresh(from + own)) g[tap] = factor * simd::load(from);
      if (transposed) std::reverse(g, g + kTaps);
#pragma GCC unroll 3
      for (int column = 0; column < 3; ++column) of_filter(g + column, 3, half + column, 3);
#pragma GCC unroll 4
      for (int row = 0; row < kSide; ++row) of_filter(half + 3 * row, 1, whole + kSide * row, 1);
      // What a register writes behind its maps is written again, but at the end of a place.
      const bool whole_register = k * own + m + kL <= channels * own;
      T* at = to + k * own + m;
#pragma GCC unroll 16
      for (int place = 0; place < kPlaces; ++place, at = fresh(at + step))
        if (whole_register)
          simd::store(at, whole[place]);
        else
          simd::store_some(at, whole[place], some);
    }
}

// Lines of one channel that the tiles read, even columns before odd ones: those of an image follow each
// other. Padding is there already.
template <class T>
void Winograd<T>::copy_lines(const Tiles& some, const T* x, T* lines) const {
  using namespace conv2d_cpu_winograd_run_cc;
  const Extent2d in = c.window.input, pad = c.window.pad;
  // Pairs of neighbours in the padded line, of which the first may be padding, and so may the last.
  const std::int64_t begin = (pad.w + 1) / 2, whole = std::min(phase(), (in.w + pad.w) / 2) - begin,
                     end = (some.last - 1) / tiles.w + 1;
  const bool half_before = pad.w % 2 != 0, half_after = begin + whole < phase() && (in.w + pad.w) % 2 != 0;
  pairs::with_lanes<T>(whole, [&]<int N>() {
    for (std::int64_t row = some.first / tiles.w; row < end;) {
      const std::int64_t image = row / tiles.h, rows = std::min(end, (image + 1) * tiles.h) - row,
                         top = 2 * (row - image * tiles.h) - pad.h, count = 2 * rows + 2;
      for (std::int64_t line = std::max<std::int64_t>(0, -top); line < std::min(count, in.h - top); ++line) {
        const T* const from = x + image * c.input_image() + (top + line) * in.w + pad.w % 2;
        T* const to = lines + 2 * line * phase() + begin;
        pairs::split_row<T, N>(whole, from, to, to + phase());
        if (half_before) to[phase() - 1] = from[-1];
        if (half_after) to[whole] = from[2 * whole];
      }
      lines += 2 * count * phase(), row += rows;
    }
  });
}

// to[channel][place][tile].
template <class T>
void Winograd<T>::transform_tiles(const Tiles& some, std::int64_t first_channel, std::int64_t last_channel,
                                  const T* x, T* lines, T* to) const {
  using namespace conv2d_cpu_winograd_run_cc;
  constexpr std::int64_t kL = simd::kLanes<T>;
  const std::int64_t first_image = some.first / of_image(), first_row = some.first / tiles.w;
  std::fill(lines, lines + line_elements(), T{0});
  x += (some.group * channels + first_channel) * c.input_plane(), to += first_channel * row_step();
  for (std::int64_t k = first_channel; k < last_channel; ++k, x += c.input_plane(), to += row_step()) {
    copy_lines(some, x, lines);
    each_row(some, [&](auto at, auto count, auto image, auto row, auto column) {
      const std::int64_t line = 2 * (image * tiles.h + row - first_row + image - first_image);
      const T* const from = lines + 2 * line * phase() + column;
      for (std::int64_t i = 0; i < count; i += kL)
        if (kMasks && at + i + kL > panel)
          transform_register<T, true>(from + i, phase(), panel - at - i, to + at + i, place_step());
        else
          transform_register<T, false>(from + i, phase(), kL, to + at + i, place_step());
    });
  }
}

// products[map][place][tile] of one panel of maps.
template <class T>
void Winograd<T>::multiply(const Tiles& some, std::int64_t count, const T* weights, const T* transformed,
                           T* products) const {
  using namespace conv2d_cpu_winograd_run_cc;
  const gemm_tile::Tile<T>& product = tile<T>();
  const std::int64_t step = place_of_weights();
  for (int place = 0; place < kPlaces; ++place, weights += step)
    for (std::int64_t column = 0; column < some.count(); column += product.columns) {
      const std::int64_t at = place * place_step() + column,
                         columns = std::min<std::int64_t>(product.columns,
                                                          up(some.count() - column, product.lanes));
      product.multiply(static_cast<int>(count), static_cast<int>(columns), channels,
                       {.a = weights,
                        .a_row = 1,
                        .a_term = count,
                        .b = transformed + at,
                        .b_term = row_step(),
                        .next_a = weights + step},
                       T{1}, T{0}, products + at, row_step());
    }
}

template <class T>
void Winograd<T>::finish_map(const Tiles& some, std::int64_t map, const T* products,
                             const pixels::Finish<T>& finish, T* rows, T* y) const {
  using namespace conv2d_cpu_winograd_run_cc;
  constexpr std::int64_t kL = simd::kLanes<T>;
  const std::int64_t of_image = some.group * maps + map;
  const simd::Vec<T> low = simd::broadcast<T>(finish.low), high = simd::broadcast<T>(finish.high);
  T* const below = rows + 2 * panel;
  for (std::int64_t i = 0; i < some.count(); i += kL) {
    const Outputs<T> outputs = outputs_of(products + i, place_step(), finish.start[of_image]);
    if (c.pools()) {
      simd::store(rows + i, pooled(c.pool.kind, outputs, low, high));
      continue;
    }
    pairs::Lanes<T, kL>::store_pairs(rows + 2 * i, outputs.at[0][0], outputs.at[0][1]);
    pairs::Lanes<T, kL>::store_pairs(below + 2 * i, outputs.at[1][0], outputs.at[1][1]);
  }
  const Extent2d out = c.pools() ? c.pool.window.output : c.window.output;
  const std::int64_t side = c.pools() ? 1 : 2;
  each_row(some, [&](auto at, auto count, auto image, auto row, auto column) {
    const std::int64_t plane = image * c.maps + of_image,
                       width = std::min(side * count, out.w - side * column);
    for (std::int64_t half = 0; half < std::min(side, out.h - side * row); ++half) {
      const std::int64_t place = (plane * out.h + side * row + half) * out.w + side * column;
      store_row(width, (half == 0 ? rows : below) + side * at,
                finish.residual == nullptr ? nullptr : finish.residual + place, !c.pools(), low, high,
                y + place);
    }
  });
}

// Products of some maps and tiles, and what becomes of them.
template <class T>
void Winograd<T>::compute(const Tiles& some, std::int64_t map_panel_index, const T* weights,
                          const T* transformed, const Job& job, T* products) const {
  const std::int64_t count = maps_of(map_panel_index);
  multiply(some, count, weights, transformed, products);
  for (std::int64_t m = 0; m < count; ++m)
    finish_map(some, map_panel_index * map_panel + m, products + m * row_step(), job.finish,
               products + product_elements(), job.y);
}

template <class T>
auto Winograd<T>::tiles_of(std::int64_t panel_of_all) const -> Tiles {
  const std::int64_t first = panel_of_all % panels() * panel;
  return {panel_of_all / panels(), first, std::min(first + panel, c.batch * of_image())};
}

// All filters first; then each panel of tiles with all maps, or with some of them where panels are few.
template <class T>
void Winograd<T>::run_by_tiles(const Job& job, T* shared, T* own_of_all) const {
  const std::int64_t filters = map_panels(), step = weights_of_panel();
  parallel_for(c.groups * filters, kElementwiseGrain / step + 1,
               [&](std::int64_t begin, std::int64_t end, int thread) {
                 for (std::int64_t i = begin; i < end; ++i)
                   transform_weights(job.w, job.finish.scale, i, own_of_all + thread * of_thread(),
                                     shared + i * step);
               });
  const std::int64_t count = c.groups * panels(), team = team_limit(),
                     parts = team == 1 ? 1 : std::clamp<std::int64_t>(4 * team / count, 1, filters);
  parallel_for(count * parts, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    T *const transformed = own_of_all + thread * of_thread(), *const products =
                                                                  transformed + panel_elements();
    for (std::int64_t n = begin, has = -1; n < end; ++n) {
      const Tiles some = tiles_of(n / parts);
      if (std::exchange(has, n / parts) != n / parts)
        transform_tiles(some, 0, channels, job.x, products + product_elements(), transformed);
      for (std::int64_t q = filters * (n % parts) / parts; q < filters * (n % parts + 1) / parts; ++q)
        compute(some, q, shared + (some.group * filters + q) * step, transformed, job, products);
    }
  });
}

// All tiles first; then each panel of maps with all tiles: its filters never leave the cache.
template <class T>
void Winograd<T>::run_by_maps(const Job& job, T* shared, T* own_of_all) const {
  const std::int64_t step = channels * row_step(), parts = std::min<std::int64_t>(channels, 2 * team_limit());
  const auto own = [&](int thread) { return own_of_all + thread * of_thread(); };
  parallel_for(c.groups * panels() * parts, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t n = begin; n < end; ++n)
      transform_tiles(tiles_of(n / parts), channels * (n % parts) / parts, channels * (n % parts + 1) / parts,
                      job.x, own(thread) + panel_elements() + product_elements(), shared + n / parts * step);
  });
  parallel_for(c.groups * map_panels(), 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    T *const weights = own(thread), *const products = weights + panel_elements();
    for (std::int64_t n = begin; n < end; ++n) {
      transform_weights(job.w, job.finish.scale, n, products, weights);
      for (std::int64_t p = n / map_panels() * panels(); p < (n / map_panels() + 1) * panels(); ++p)
        compute(tiles_of(p), n % map_panels(), weights, shared + p * step, job, products);
    }
  });
}

template <class T>
void Winograd<T>::run(const T* x, const T* w, const pixels::Finish<T>& finish, T* y, T* workspace) const {
  const Job job{x, w, finish, y};
  if (tiles_first)
    run_by_maps(job, workspace, workspace + shared_elements());
  else
    run_by_tiles(job, workspace, workspace + shared_elements());
}

template struct Winograd<float>;
template struct Winograd<double>;

}  // namespace headroom::winograd
