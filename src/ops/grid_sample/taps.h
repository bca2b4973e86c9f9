#pragma once

// The pixels that a point of the grid reads, and their weights: what the kernels of the CPU and of a GPU
// share.

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace headroom {

enum class GridMode { nearest, linear, cubic };
enum class GridPadding { zeros, border, reflection };

struct GridShape {
  std::int64_t images = 1, channels = 1;
  int axes = 2;
  std::int64_t extent[3] = {1, 1, 1};  // of an image: rows and columns, or depth, rows and columns
  std::int64_t pixels = 1, points = 1;
  GridMode mode = GridMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;
};

// Between 0 and the last pixel, or between the outer edges of both.
HEADROOM_HOST_DEVICE inline double reflected(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  if (x >= low && x <= high) return x;
  const double beyond = x < low ? low - x : x - high;
  const double times = std::floor(beyond / range), rest = beyond - times * range;
  const bool even = std::fmod(times, 2.0) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

HEADROOM_HOST_DEVICE inline std::int64_t pixel_at(const GridShape& s, double x, std::int64_t extent,
                                                  double low, double high) {
  const auto last = static_cast<double>(extent - 1);
  if (s.padding == GridPadding::reflection) x = reflected(x, low, high);
  if (s.padding != GridPadding::zeros) x = x < 0 ? 0 : x > last ? last : x;
  return x >= 0 && x <= last ? static_cast<std::int64_t>(x) : -1;
}

// Keys' kernel with -0.75.
HEADROOM_HOST_DEVICE inline double cubic_weight(double distance) {
  const double a = -0.75, x = distance < 0 ? -distance : distance;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// One axis: up to four pixels with their weights. A pixel outside is -1.
template <class T>
struct AxisTaps {
  int count = 0;
  std::int64_t at[4];
  T weight[4];
};

template <class T>
HEADROOM_HOST_DEVICE inline AxisTaps<T> axis_taps(const GridShape& s, double point, std::int64_t extent) {
  const auto n = static_cast<double>(extent);
  double x = s.align_corners ? (point + 1) / 2 * (n - 1) : ((point + 1) * n - 1) / 2;
  const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? n - 1 : n - 0.5;
  if (s.mode == GridMode::nearest) x = std::nearbyint(x);
  if (x < low || x > high) {
    // A cubic keeps its place, and each of its pixels comes from the border.
    if (s.padding == GridPadding::border && s.mode != GridMode::cubic) x = x < 0 ? 0 : n - 1;
    if (s.padding == GridPadding::reflection) x = reflected(x, low, high);
  }
  AxisTaps<T> taps;
  const double floor = std::floor(x);
  const int first = s.mode == GridMode::cubic ? -1 : 0;
  taps.count = s.mode == GridMode::nearest ? 1 : s.mode == GridMode::linear ? 2 : 4;
  for (int k = 0; k < taps.count; ++k) {
    const double at = s.mode == GridMode::nearest ? x : floor + k + first, away = x - at;
    taps.at[k] = pixel_at(s, at, extent, low, high);
    taps.weight[k] = static_cast<T>(s.mode == GridMode::nearest  ? 1
                                    : s.mode == GridMode::linear ? 1 - (away < 0 ? -away : away)
                                                                 : cubic_weight(away));
  }
  return taps;
}

// A point of the grid: where it reads along each axis.
template <class T>
struct PointTaps {
  AxisTaps<T> axis[3];
};

// `point(axis)` gives the coordinates as the grid has them, the last axis first.
template <class T, class Point>
HEADROOM_HOST_DEVICE inline PointTaps<T> point_taps(const GridShape& s, const Point& point) {
  PointTaps<T> taps;
  for (int a = 0; a < s.axes; ++a) taps.axis[a] = axis_taps<T>(s, point(s.axes - 1 - a), s.extent[a]);
  return taps;
}

// `pixel(offset)` reads a channel of the image.
template <class T, class Pixel>
HEADROOM_HOST_DEVICE inline T sampled(const GridShape& s, const PointTaps<T>& taps, const Pixel& pixel) {
  const AxisTaps<T>&rows = taps.axis[s.axes - 2], &columns = taps.axis[s.axes - 1];
  const std::int64_t height = s.extent[s.axes - 2], width = s.extent[s.axes - 1];
  const int depth = s.axes == 3 ? taps.axis[0].count : 1;
  T sum = T{0};
  for (int d = 0; d < depth; ++d) {
    const std::int64_t plane = s.axes == 3 ? taps.axis[0].at[d] : 0;
    const T outer = s.axes == 3 ? taps.axis[0].weight[d] : T{1};
    if (plane < 0) continue;
    for (int r = 0; r < rows.count; ++r) {
      if (rows.at[r] < 0) continue;
      T line = T{0};
      for (int c = 0; c < columns.count; ++c)
        if (columns.at[c] >= 0)
          line += columns.weight[c] * pixel((plane * height + rows.at[r]) * width + columns.at[c]);
      sum += outer * rows.weight[r] * line;
    }
  }
  return sum;
}

#ifndef __CUDACC__
struct Problem;
GridShape grid_shape(const Problem& problem);
#endif

}  // namespace headroom
