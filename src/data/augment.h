#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

// Random changes of the training images, drawn again every epoch.
struct Augment {
  std::int64_t crop = 0;  // > 0: pad each side by this many zero pixels, then cut out the old size at random
  bool flip = false;      // left to right, half the time
  bool any() const { return crop > 0 || flip; }
  bool operator==(const Augment&) const = default;
};

// "crop,flip", "crop:4", "flip"; rejects unknown names and suggests the nearest one.
Augment parse_augment(std::string_view text);

// The change of one image: shifted down and right by these numbers of pixels, then perhaps flipped.
struct Jitter {
  std::int64_t down = 0, right = 0;
  bool flipped = false;
};

// A function of (seed, epoch, image) only, so threads and resuming do not change the images.
Jitter draw_jitter(const Augment& augment, std::uint64_t seed, std::int64_t epoch, std::int64_t image);

}  // namespace headroom
