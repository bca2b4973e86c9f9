#include "data/glyph_raster.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

struct Window {
  std::int64_t begin, end;
};

// Pixels whose centres are within `reach` of [a, b].
Window window_of(float a, float b, float reach, std::int64_t size) {
  const auto [low, high] = std::minmax(a, b);
  const auto top = static_cast<float>(size);
  return {static_cast<std::int64_t>(std::clamp(std::floor(low - reach), 0.f, top)),
          static_cast<std::int64_t>(std::clamp(std::ceil(high + reach), 0.f, top))};
}

void draw(const InkSegment& s, float softness, std::int64_t size, std::span<float> ink) {
  const float reach = std::max(s.r0, s.r1) + 0.5f * softness;
  const Window rows = window_of(s.y0, s.y1, reach, size), columns = window_of(s.x0, s.x1, reach, size);
  const float dx = s.x1 - s.x0, dy = s.y1 - s.y0;
  const float inverse = 1 / std::max(dx * dx + dy * dy, 1e-12f), steepness = 1 / softness;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    float* line = ink.data() + row * size;
    const float py = static_cast<float>(row) + 0.5f - s.y0;
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      const float px = static_cast<float>(column) + 0.5f - s.x0;
      const float t = std::clamp((px * dx + py * dy) * inverse, 0.f, 1.f);
      const float ex = px - t * dx, ey = py - t * dy;
      const float inside = s.r0 + t * (s.r1 - s.r0) - std::sqrt(ex * ex + ey * ey);
      line[column] = std::max(line[column], std::clamp(inside * steepness + 0.5f, 0.f, 1.f));
    }
  }
}

// out = mean of (left, self, right) along one axis; zero outside the image.
void mean_of_three(const float* in, float* out, std::int64_t n, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float before = i > 0 ? in[(i - 1) * stride] : 0, after = i + 1 < n ? in[(i + 1) * stride] : 0;
    out[i * stride] = (before + in[i * stride] + after) * (1.f / 3);
  }
}

}  // namespace

void raster(std::span<const InkSegment> segments, float softness, std::int64_t size, std::span<float> ink) {
  std::fill(ink.begin(), ink.end(), 0.f);
  for (const InkSegment& segment : segments) draw(segment, softness, size, ink);
}

void soften(std::span<float> ink, std::span<float> scratch, std::int64_t size, float amount) {
  for (std::int64_t row = 0; row < size; ++row)
    mean_of_three(ink.data() + row * size, scratch.data() + row * size, size, 1);
  for (std::int64_t row = 0; row < size; ++row) {
    const float* here = scratch.data() + row * size;
    for (std::int64_t column = 0; column < size; ++column) {
      const float above = row > 0 ? here[column - size] : 0, below = row + 1 < size ? here[column + size] : 0;
      float& value = ink[static_cast<std::size_t>(row * size + column)];
      value += amount * ((above + here[column] + below) * (1.f / 3) - value);
    }
  }
}

}  // namespace headroom
