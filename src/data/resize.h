#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace headroom {

// Bilinear, with pixel centres at halves. The rules differ outside the image and in the rounding:
//   edge  repeats the outermost pixels; rounds to the nearest byte
//   zero  black; truncates to a byte, like scikit-image's resize for the convolution course's images
enum class ResizeRule { edge, zero };
ResizeRule parse_resize_rule(std::string_view name);

// One plane of bytes into another.
struct PlaneSize {
  std::int64_t rows = 0, columns = 0;
  bool operator==(const PlaneSize&) const = default;
};
void resize_plane(std::span<const std::uint8_t> in, PlaneSize from, std::span<std::uint8_t> out, PlaneSize to,
                  ResizeRule rule);

struct Split;

// Resizes every image of the split. Rejects sizes that this machine's memory cannot hold.
void resize_images(Split& split, PlaneSize to, ResizeRule rule);

}  // namespace headroom
