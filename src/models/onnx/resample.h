#pragma once

// Positions and weights of resized axes, by the rules of ONNX's Resize.

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::onnx {

struct Resampling {
  std::string mode;         // nearest, linear, cubic
  std::string coordinates;  // coordinate_transformation_mode
  std::string nearest_mode;
  double cubic_a = -0.75;
  bool antialias = false;        // shrinking averages over all pixels that a result covers
  bool exclude_outside = false;  // instead of repeating the edge
};

struct ResizedAxis {
  std::int64_t from = 1, to = 1;
  double scale = 0;  // 0: to / from
  double roi_begin = 0, roi_end = 1;
};

// Where the centre of result o lies among the pixels.
double source_position(const Resampling& rule, const ResizedAxis& axis, std::int64_t o);
std::int64_t nearest_pixel(const Resampling& rule, const ResizedAxis& axis, std::int64_t o);
// One row of weights of the pixels for each result: [to, from].
std::vector<double> resample_weights(const Resampling& rule, const ResizedAxis& axis);

}  // namespace headroom::onnx
