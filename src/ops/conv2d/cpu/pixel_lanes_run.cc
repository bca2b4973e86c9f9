// How threads share a convolution by pixel_lanes out, and what becomes of the results of their parts.
#include <algorithm>
#include <atomic>

#include "ops/conv2d/cpu/pixel_tile.h"
#include "ops/cpu/parallel.h"
#include "ops/pool/cpu/pairs.h"

namespace headroom::pixels {
namespace conv2d_cpu_pixel_lanes_run_cc {
namespace {

std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

// Planes of `rows` rows of windows, from rows of the window's input.
template <class T>
void pool_plane(const BlockPool& pool, std::int64_t rows, const T* from, T* to) {
  const std::int64_t width = pool.window.input.w, out = pool.window.output.w;
  pairs::with_lanes<T>(out, [&]<int N>() {
    const auto row = pool.kind == BlockPool::Kind::max ? pairs::max_row<T, N> : pairs::avg_row<T, N>;
    for (std::int64_t i = 0; i < rows; ++i, from += 2 * width, to += out) row(out, from, from + width, to);
  });
}

}  // namespace
}  // namespace conv2d_cpu_pixel_lanes_run_cc

template <class T>
bool PixelLanes<T>::each_alone() const {
  const std::int64_t items = c.batch * c.groups;
  return threads == 1 || items >= 4 * threads || items % threads == 0;
}

template <class T>
ImageShares PixelLanes<T>::shares(int team) const {
  constexpr std::int64_t kUnitsOfPart = 2, kParts = 16;
  return image_shares(c.batch * c.groups, team, std::min(kParts, units() / kUnitsOfPart));
}

// Bands of rows that are pooled while they are in the second-level cache.
template <class T>
bool PixelLanes<T>::has_bands() const {
  return c.pools() && source.form == Source::Form::padded && !c.residual;
}

template <class T>
std::int64_t PixelLanes<T>::band_rows() const {
  constexpr std::int64_t kBandBytes = 256 << 10;
  const std::int64_t bytes = c.group_maps() * 2 * source.width * std::int64_t{sizeof(T)};
  return std::clamp<std::int64_t>(kBandBytes / bytes, 1, c.pool.window.output.h);
}

template <class T>
std::int64_t PixelLanes<T>::held_results() const {
  if (!c.pools()) return 0;
  return c.group_maps() * source.width * (has_bands() ? 2 * band_rows() : source.rows);
}

template <class T>
std::int64_t PixelLanes<T>::units() const {
  using namespace conv2d_cpu_pixel_lanes_run_cc;
  if (has_bands()) return c.pool.window.output.h;
  if (c.pools()) return 1;
  return pieces(registers(), tile_shape(c.group_maps()).registers);
}

template <class T>
std::int64_t PixelLanes<T>::registers() const {
  return registers_of(source.rows, source.width, simd::kLanes<T>);
}

template <class T>
auto PixelLanes<T>::item_at(std::int64_t i, const T* x, const T* w, const Finish<T>& finish, T* y) const
    -> Item {
  Item item{i % c.groups, x + i * c.group_channels() * c.input_plane(), w, finish,
            y + i * c.group_maps() * c.pooled_plane()};
  if (finish.residual != nullptr) item.finish.residual += i * c.group_maps() * c.output_plane();
  return item;
}

template <class T>
void PixelLanes<T>::run_units(const Item& item, Maps maps, std::int64_t begin, std::int64_t end,
                              T* scratch_memory) const {
  using namespace conv2d_cpu_pixel_lanes_run_cc;
  Part part{item.group, maps.begin, maps.end, 0, registers(), 0, c.output_plane()};
  if (!c.pools()) {
    const int unit = tile_shape(c.group_maps()).registers;
    part.first_register = begin * unit, part.last_register = std::min(end * unit, registers());
    return compute(item.x, item.w, item.finish, part, item.y, scratch_memory);
  }
  const Scratch sizes = scratch();
  T* const results = scratch_memory + sizes.weights + sizes.panel;
  const std::int64_t across = registers() / source.rows, step = has_bands() ? band_rows() : 1;
  for (std::int64_t band = begin; band < end; band += step) {
    std::int64_t rows = c.pool.window.output.h;
    if (has_bands()) {
      rows = std::min(step, end - band);
      part.first_row = 2 * band, part.plane = 2 * rows * source.width;
      part.first_register = 2 * band * across, part.last_register = 2 * (band + rows) * across;
    }
    compute(item.x, item.w, item.finish, part, results, scratch_memory);
    // No activation decreases: that of the largest value is the largest.
    const bool pools_first = c.pool.kind == BlockPool::Kind::max;
    for (std::int64_t map = maps.begin; map < maps.end; ++map) {
      const auto activate = [&](std::int64_t count, T* values) {
        if (!is_cut(c.activation)) apply_activation(c.activation, count, values, values);
      };
      T* const plane = results + map * part.plane;
      T* const to = item.y + map * c.pooled_plane() + (has_bands() ? band * c.pool.window.output.w : 0);
      if (!pools_first) activate(part.plane, plane);
      pool_plane(c.pool, rows, plane, to);
      if (pools_first) activate(rows * c.pool.window.output.w, to);
    }
  }
}

// Whole images first, then parts of the others: who is early takes more of these.
template <class T>
void PixelLanes<T>::run_alone(const T* x, const T* w, const Finish<T>& finish, T* y, T* workspace) const {
  const Scratch sizes = scratch();
  const std::int64_t images = c.batch * c.groups;
  const int team = loop_threads(images, 1, team_limit());
  const ImageShares shared = shares(team);
  const Maps maps{0, c.group_maps()};
  std::atomic<std::int64_t> next = 0;
  auto body = [&](int thread) {
    T* const own = workspace + sizes.shared + thread * sizes.per_thread;
    T* const copy = own + sizes.weights + sizes.panel + sizes.results;
    auto one = [&](std::int64_t i, std::int64_t part, std::int64_t parts) {
      Item item = item_at(i, x, w, finish, y);
      if (source.form != Source::Form::as_it_is) {
        copy_channels(c, source, item.x, 0, source.channels, copy);
        item.x = copy;
      }
      run_units(item, maps, units() * part / parts, units() * (part + 1) / parts, own);
    };
    for (std::int64_t i = shared.whole * thread / team; i < shared.whole * (thread + 1) / team; ++i)
      one(i, 0, 1);
    const std::int64_t rest = (images - shared.whole) * shared.parts;
    for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < rest;)
      one(shared.whole + task / shared.parts, task % shared.parts, shared.parts);
  };
  if (team == 1) return body(0);
  run_team(team, [&](int thread) {
    const Span span(kWorkerSpan, SpanKind::worker);
    body(thread);
  });
}

// All threads at one image.
template <class T>
void PixelLanes<T>::run_together(Item item, T* workspace) const {
  using namespace conv2d_cpu_pixel_lanes_run_cc;
  constexpr std::int64_t kL = simd::kLanes<T>;
  const Scratch sizes = scratch();
  if (source.form != Source::Form::as_it_is) {
    parallel_for(source.channels, kElementwiseGrain / source.channel + 1,
                 [&, from = item.x](std::int64_t begin, std::int64_t end, int) {
                   copy_channels(c, source, from, begin, end, workspace);
                 });
    item.x = workspace;
  }
  auto own = [&](int thread) { return workspace + sizes.shared + thread * sizes.per_thread; };
  // Few pixels are shared out by maps: then nobody packs a weight twice.
  const int tile = tile_shape(c.group_maps()).maps;
  const std::int64_t tiles = pieces(c.group_maps(), tile),
                     grain = 500'000 / (c.depth() * tile * kL * registers()) + 1;
  const bool few_pixels = tiles >= 4 * threads && registers() * kL < 256 * threads;
  if (few_pixels || (units() == 1 && tiles > 1))
    parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
      run_units(item, {begin * tile, std::min(end * tile, c.group_maps())}, 0, units(), own(thread));
    });
  else
    parallel_for(units(), grain, [&](std::int64_t begin, std::int64_t end, int thread) {
      run_units(item, {0, c.group_maps()}, begin, end, own(thread));
    });
}

template <class T>
void PixelLanes<T>::run(const T* x, const T* w, const Finish<T>& finish, T* y, T* workspace) const {
  if (each_alone()) return run_alone(x, w, finish, y, workspace);
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) run_together(item_at(i, x, w, finish, y), workspace);
}

#define HEADROOM_PIXEL_RUN(T)                                \
  template bool PixelLanes<T>::each_alone() const;           \
  template ImageShares PixelLanes<T>::shares(int) const;     \
  template std::int64_t PixelLanes<T>::held_results() const; \
  template void PixelLanes<T>::run(const T*, const T*, const Finish<T>&, T*, T*) const;
HEADROOM_PIXEL_RUN(float)
HEADROOM_PIXEL_RUN(double)
#undef HEADROOM_PIXEL_RUN

}  // namespace headroom::pixels
