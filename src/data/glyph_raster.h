#pragma once

#include <cstdint>
#include <span>

namespace headroom {

// A piece of stroke in pixels; its pen radius changes linearly from one end to the other.
struct InkSegment {
  float x0, y0, x1, y1;
  float r0, r1;
};

// Coverage in [0, 1] over size x size pixels: one inside the stroke, falling to zero over `softness` pixels
// across its edge. Crossing strokes do not add up.
void raster(std::span<const InkSegment> segments, float softness, std::int64_t size, std::span<float> ink);

// Mixes each pixel with the mean of its 3x3 neighbourhood; `scratch` is as large as `ink`.
void soften(std::span<float> ink, std::span<float> scratch, std::int64_t size, float amount);

}  // namespace headroom
