#include "ops/cpu/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ops/cpu/parallel.h"
#include "ops/cpu/tile_transpose.h"

namespace headroom {
namespace cpu_strided_copy_cc {
namespace {

using Axis = StridedCopy::Axis;

// Steps through the indices of the outer axes, all but the last `inner`, keeping both offsets.
class Walk {
 public:
  Walk(const StridedCopy& copy, int inner, std::int64_t start) : copy_(copy), outer_(copy.rank - inner) {
    from = copy.from;
    to = copy.to;
    for (int a = outer_; a-- > 0;) {
      const Axis& axis = copy.axes[static_cast<std::size_t>(a)];
      const std::int64_t i = start % axis.extent;
      start /= axis.extent;
      index_[static_cast<std::size_t>(a)] = i;
      from += i * axis.from;
      to += i * axis.to;
    }
  }
  void next() {
    for (int a = outer_; a-- > 0;) {
      const Axis& axis = copy_.axes[static_cast<std::size_t>(a)];
      std::int64_t& i = index_[static_cast<std::size_t>(a)];
      from += axis.from;
      to += axis.to;
      if (++i < axis.extent) return;
      from -= axis.extent * axis.from;
      to -= axis.extent * axis.to;
      i = 0;
    }
  }
  std::int64_t from = 0, to = 0;

 private:
  const StridedCopy& copy_;
  int outer_;
  std::array<std::int64_t, Shape::kMaxRank> index_{};
};

template <class T>
void copy_row(std::int64_t n, const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  constexpr std::int64_t kWorthACall = 32;
  if (from_step == 1 && to_step == 1) {
    if (n >= kWorthACall)
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    else
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else if (to_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * from_step];
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <class T>
void copy_rows(const StridedCopy& copy, const T* from, T* to) {
  const Axis& inner = copy.axes[static_cast<std::size_t>(copy.rank - 1)];
  // A row may be all there is, so that pieces end anywhere within rows.
  parallel_for(copy.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    Walk walk(copy, 1, begin / inner.extent);
    for (std::int64_t at = begin % inner.extent; begin < end; at = 0, walk.next()) {
      const std::int64_t n = std::min(inner.extent - at, end - begin);
      copy_row(n, from + walk.from + at * inner.from, inner.from, to + walk.to + at * inner.to, inner.to);
      begin += n;
    }
  });
}

// The last two axes run crosswise: the last is dense in `to`, the one before it in `from`.
template <class T>
void copy_tiles(const StridedCopy& copy, const T* from, T* to) {
  const Axis &rows = copy.axes[static_cast<std::size_t>(copy.rank - 2)],
             &columns = copy.axes[static_cast<std::size_t>(copy.rank - 1)];
  // Where one side is short the tile grows along the other; whole squares either way.
  const std::int64_t tall = columns.extent < kTileColumns ? kTile / columns.extent / 4 * 4 : kTileRows,
                     wide = rows.extent < kTileRows ? kTile / rows.extent / 4 * 4 : kTileColumns;
  const std::int64_t down = (rows.extent + tall - 1) / tall, across = (columns.extent + wide - 1) / wide;
  const std::int64_t planes = copy.numel() / (rows.extent * columns.extent);
  const std::int64_t tile = std::min(tall, rows.extent) * std::min(wide, columns.extent);
  // Bands of kBand tiles side by side, downwards: pages of either side are then used for more than a few
  // lines before their translation is forgotten. Half of the time for 2048x2048.
  constexpr std::int64_t kBand = 8;
  auto one = [&](const Walk& walk, std::int64_t t) {
    const std::int64_t band = t / (kBand * down) * kBand, width = std::min(kBand, across - band);
    const std::int64_t i = t % (kBand * down) / width * tall, j = (band + t % (kBand * down) % width) * wide;
    transpose_tile(std::min(tall, rows.extent - i), std::min(wide, columns.extent - j),
                   from + walk.from + i + j * columns.from, columns.from, to + walk.to + i * rows.to + j,
                   rows.to);
  };
  parallel_for(planes * down * across, kElementwiseGrain / tile + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 std::int64_t plane = begin / (down * across), t = begin % (down * across);
                 for (Walk walk(copy, 2, plane); begin < end; ++begin) {
                   one(walk, t);
                   if (++t < down * across) continue;
                   t = 0;
                   walk.next();
                 }
               });
}

bool joins(const Axis& outer, const Axis& inner) {
  return outer.from == inner.from * inner.extent && outer.to == inner.to * inner.extent;
}

// Moves the axis that is dense in `from` next to the last one; the order of the others is free.
bool crosswise(StridedCopy& copy) {
  const Axis* begin = copy.axes.data();
  const Axis* last = begin + copy.rank - 1;
  if (copy.rank < 2 || last->to != 1 || last->from == 1) return false;
  const Axis* dense = std::find_if(begin, last, [](const Axis& axis) { return axis.from == 1; });
  if (dense == last) return false;
  const auto from = copy.axes.begin() + (dense - begin);
  std::rotate(from, from + 1, copy.axes.begin() + copy.rank - 1);
  return true;
}

}  // namespace
}  // namespace cpu_strided_copy_cc

std::int64_t StridedCopy::numel() const {
  std::int64_t n = 1;
  for (int a = 0; a < rank; ++a) n *= axes[static_cast<std::size_t>(a)].extent;
  return n;
}

StridedCopy strided_copy(std::span<const StridedCopy::Axis> axes, std::int64_t from, std::int64_t to) {
  using namespace cpu_strided_copy_cc;
  StridedCopy copy{.from = from, .to = to};
  std::array<Axis, Shape::kMaxRank> sorted{};
  const auto end = std::copy_if(axes.begin(), axes.end(), sorted.begin(),
                                [](const Axis& axis) { return axis.extent != 1; });
  std::stable_sort(sorted.begin(), end,
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  for (auto axis = sorted.begin(); axis != end; ++axis) {
    if (copy.rank > 0 && joins(copy.axes[static_cast<std::size_t>(copy.rank - 1)], *axis)) {
      Axis& outer = copy.axes[static_cast<std::size_t>(copy.rank - 1)];
      outer = {outer.extent * axis->extent, axis->from, axis->to};
    } else {
      copy.axes[static_cast<std::size_t>(copy.rank++)] = *axis;
    }
  }
  if (copy.rank == 0) copy.axes[static_cast<std::size_t>(copy.rank++)] = {1, 1, 1};
  return copy;
}

template <class T>
void copy_strided(const StridedCopy& copy, const T* from, T* to) {
  using namespace cpu_strided_copy_cc;
  StridedCopy tiled = copy;
  if (crosswise(tiled))
    copy_tiles(tiled, from, to);
  else
    copy_rows(copy, from, to);
}

std::array<std::int64_t, Shape::kMaxRank> dense_strides(const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  std::int64_t step = 1;
  for (int a = shape.rank(); a-- > 0; step *= shape[a]) strides[static_cast<std::size_t>(a)] = step;
  return strides;
}

template <class T>
void fill_parallel(std::int64_t n, T* to, T value) {
  parallel_for(n, kElementwiseGrain,
               [=](std::int64_t begin, std::int64_t end, int) { std::fill(to + begin, to + end, value); });
}

#define HEADROOM_STORED(T)                                              \
  template void copy_strided<T>(const StridedCopy& copy, const T*, T*); \
  template void fill_parallel<T>(std::int64_t, T*, T)
HEADROOM_STORED(double);
HEADROOM_STORED(float);
HEADROOM_STORED(std::int64_t);
HEADROOM_STORED(std::int32_t);
HEADROOM_STORED(std::uint16_t);
HEADROOM_STORED(std::uint8_t);
HEADROOM_STORED(std::int8_t);
#undef HEADROOM_STORED

}  // namespace headroom
