// Filters and tiles before their products, and results after them.
#include "ops/conv2d/cpu/winograd_registers.h"
#include "ops/pool/cpu/pairs.h"

namespace headroom::winograd {

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
  constexpr std::int64_t kL = simd::kLanes<T>;
  const std::int64_t group = index / map_panels(), own = maps_of(index % map_panels()),
                     first = group * maps + index % map_panels() * map_panel, step = place_of_weights();
  // taps[channel][tap][map]
  if (!transposed)
    gemm_tile::used_tile<T>().pack(w + first * channels * kTaps, channels * kTaps, own, channels * kTaps, own,
                                   taps);
  for (std::int64_t k = 0; k < channels && transposed; ++k)
    gemm_tile::used_tile<T>().pack(w + (k * maps + first + group * (channels - 1) * maps) * kTaps, kTaps, own,
                                   kTaps, own, taps + k * kTaps * own);
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

template <class T>
void Winograd<T>::finish_map(const Tiles& some, std::int64_t map, const T* products,
                             const pixels::Finish<T>& finish, T* rows, T* y) const {
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

#define HEADROOM_WINOGRAD_TRANSFORMS(T)                                                                     \
  template void Winograd<T>::transform_weights(const T*, const T*, std::int64_t, T*, T*) const;             \
  template void Winograd<T>::transform_tiles(const Tiles&, std::int64_t, std::int64_t, const T*, T*, T*)    \
      const;                                                                                                \
  template void Winograd<T>::finish_map(const Tiles&, std::int64_t, const T*, const pixels::Finish<T>&, T*, \
                                        T*) const;
HEADROOM_WINOGRAD_TRANSFORMS(float)
HEADROOM_WINOGRAD_TRANSFORMS(double)
#undef HEADROOM_WINOGRAD_TRANSFORMS

}  // namespace headroom::winograd
