#include "models/onnx/resample.h"

#include <algorithm>
#include <cmath>

namespace headroom::onnx {
namespace {

// Keys' kernel with a free parameter, -0.75 or -0.5; 0 from a distance of 2 on.
double cubic(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double linear(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

}  // namespace

// Without a scale, one rounding before the half: ties between pixels stay ties.
double source_position(const Resampling& rule, const ResizedAxis& axis, std::int64_t o) {
  const auto m = static_cast<double>(axis.from), n = static_cast<double>(axis.to),
             at = static_cast<double>(o);
  const std::string& how = rule.coordinates;
  if (how == "align_corners") return axis.to == 1 ? 0 : at * (m - 1) / (n - 1);
  if (how == "asymmetric") return axis.scale > 0 ? at / axis.scale : at * m / n;
  if (how == "tf_crop_and_resize") {
    const double length = (axis.roi_end - axis.roi_begin) * (m - 1);
    return axis.roi_begin * (m - 1) + (axis.to == 1 ? length / 2 : at * length / (n - 1));
  }
  if (how == "pytorch_half_pixel" && axis.to == 1) return 0;
  if (axis.scale <= 0) return (2 * at + 1) * m / (2 * n) - 0.5;
  // The centres of the image and of the result coincide, also if the result's length was rounded.
  const double shift = how == "half_pixel_symmetric" ? m / 2 * (1 - n / (axis.scale * m)) : 0;
  return shift + (at + 0.5) / axis.scale - 0.5;
}

std::int64_t nearest_pixel(const Resampling& rule, const ResizedAxis& axis, std::int64_t o) {
  const double x = source_position(rule, axis, o);
  const double rounded = rule.nearest_mode == "floor"               ? std::floor(x)
                         : rule.nearest_mode == "ceil"              ? std::ceil(x)
                         : rule.nearest_mode == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                                    : std::ceil(x - 0.5);
  return std::clamp(static_cast<std::int64_t>(rounded), std::int64_t{0}, axis.from - 1);
}

std::vector<double> resample_weights(const Resampling& rule, const ResizedAxis& axis) {
  const bool smooth = rule.mode == "cubic";
  const double scale =
      axis.scale > 0 ? axis.scale : static_cast<double>(axis.to) / static_cast<double>(axis.from);
  // A shrinking filter is wider by the inverse of the scale.
  const double narrow = rule.antialias ? std::min(scale, 1.0) : 1.0;
  const auto reach = static_cast<std::int64_t>(std::ceil((smooth ? 2 : 1) / narrow));
  std::vector<double> all(static_cast<std::size_t>(axis.to * axis.from), 0);
  for (std::int64_t o = 0; o < axis.to; ++o) {
    const double x = source_position(rule, axis, o);
    const auto base = static_cast<std::int64_t>(std::floor(x));
    double* row = all.data() + o * axis.from;
    double sum = 0;
    for (std::int64_t i = base - reach; i <= base + reach + 1; ++i) {
      const double distance = (static_cast<double>(i) - x) * narrow;
      const double weight = smooth ? cubic(rule.cubic_a, distance) : linear(distance);
      if (rule.exclude_outside && (i < 0 || i >= axis.from)) continue;
      row[std::clamp(i, std::int64_t{0}, axis.from - 1)] += weight;
      sum += weight;
    }
    if (rule.antialias || rule.exclude_outside)
      for (std::int64_t i = 0; i < axis.from; ++i) row[i] /= sum;
  }
  return all;
}

}  // namespace headroom::onnx
