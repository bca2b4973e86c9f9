#pragma once

// One bin of a region: what the kernels of the CPU and of a GPU share. Positions are worked out in fp64:
// among thousands of pixels, fp32 would leave few digits for the weights. Each product with a sum is written
// as one fma, so that compilers cannot choose and every machine gets the same position.

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace headroom {

struct RoiShape {
  std::int64_t images = 1, channels = 1, regions = 1;
  int rows = 1, columns = 1;  // of an image
  int output_rows = 1, output_columns = 1;
  int sampling_ratio = 0;
  double spatial_scale = 1;
  bool max = false, half_pixel = true;
};

// A point between pixels: the pixels around it, and the share of the higher one.
struct RoiPoint {
  int low, high;
  double share;
  bool inside;
};

HEADROOM_HOST_DEVICE inline RoiPoint roi_point(double at, int extent) {
  if (!(at >= -1 && at <= extent)) return {0, 0, 0, false};
  if (at < 0) at = 0;
  const int low = static_cast<int>(at);
  if (low >= extent - 1) return {extent - 1, extent - 1, 0, true};
  return {low, low + 1, at - low, true};
}

template <class T>
HEADROOM_HOST_DEVICE inline T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

// `pixel(row, column)` reads a channel of the image; T is the type that is computed in.
template <class T, class Pixel>
HEADROOM_HOST_DEVICE inline T roi_bin(const RoiShape& s, const T region[4], int row, int column,
                                      const Pixel& pixel) {
  const double scale = s.spatial_scale, shift = s.half_pixel ? 0.5 : 0;
  const auto scaled = [&](T at) { return std::fma(static_cast<double>(at), scale, -shift); };
  const double left = scaled(region[0]), top = scaled(region[1]);
  double width = scaled(region[2]) - left, height = scaled(region[3]) - top;
  if (!s.half_pixel) width = width > 1 ? width : 1, height = height > 1 ? height : 1;
  const double bin_rows = height / s.output_rows, bin_columns = width / s.output_columns;
  const int down = s.sampling_ratio > 0 ? s.sampling_ratio : static_cast<int>(std::ceil(bin_rows));
  const int across = s.sampling_ratio > 0 ? s.sampling_ratio : static_cast<int>(std::ceil(bin_columns));
  T result = T{0};
  bool first = true;
  for (int i = 0; i < down; ++i) {
    const RoiPoint v = roi_point(std::fma(row + (i + 0.5) / down, bin_rows, top), s.rows);
    for (int k = 0; k < across; ++k) {
      const RoiPoint u = roi_point(std::fma(column + (k + 0.5) / across, bin_columns, left), s.columns);
      T parts[4] = {T{0}, T{0}, T{0}, T{0}};
      if (u.inside && v.inside) {
        parts[0] = static_cast<T>((1 - v.share) * (1 - u.share)) * pixel(v.low, u.low);
        parts[1] = static_cast<T>((1 - v.share) * u.share) * pixel(v.low, u.high);
        parts[2] = static_cast<T>(v.share * (1 - u.share)) * pixel(v.high, u.low);
        parts[3] = static_cast<T>(v.share * u.share) * pixel(v.high, u.high);
      }
      if (s.max) {
        const T most = larger(larger(parts[0], parts[1]), larger(parts[2], parts[3]));
        result = first ? most : larger(result, most);
      } else {
        result += (parts[0] + parts[1]) + (parts[2] + parts[3]);
      }
      first = false;
    }
  }
  return s.max || down * across == 0 ? result : result / static_cast<T>(down * across);
}

#ifndef __CUDACC__
struct Problem;
RoiShape roi_shape(const Problem& problem);
#endif

}  // namespace headroom
