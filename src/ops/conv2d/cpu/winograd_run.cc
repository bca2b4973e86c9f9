// The products of Winograd's convolution, and how threads share them out.
#include <algorithm>
#include <utility>

#include "ops/conv2d/cpu/winograd.h"
#include "ops/cpu/parallel.h"

namespace headroom::winograd {

// products[map][place][tile] of one panel of maps.
template <class T>
void Winograd<T>::multiply(const Tiles& some, std::int64_t count, const T* weights, const T* transformed,
                           T* products) const {
  const gemm_tile::Tile<T>& product = gemm_tile::used_tile<T>();
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
  const std::int64_t count = c.groups * panels(), team = team_limit();
  if (count == 0) return;
  const std::int64_t parts = team == 1 ? 1 : std::clamp<std::int64_t>(4 * team / count, 1, filters);
  parallel_for(count * parts, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    T* const transformed = own_of_all + thread * of_thread();
    T* const products = transformed + panel_elements();
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

template void Winograd<float>::run(const float*, const float*, const pixels::Finish<float>&, float*,
                                   float*) const;
template void Winograd<double>::run(const double*, const double*, const pixels::Finish<double>&, double*,
                                    double*) const;

}  // namespace headroom::winograd
