#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

// Changes of the training images, drawn anew every epoch.
struct Augment {
  std::int64_t crop = 0;  // > 0: pad by so many pixels 0 on each side and cut the old size out anywhere
  bool flip = false;      // left to right, half the time
  bool any() const { return crop > 0 || flip; }
  bool operator==(const Augment&) const = default;
};

// "crop,flip", "crop:4", "flip"; rejects unknown names with the nearest one.
Augment parse_augment(std::string_view text);

// What happens to one image: moved down and right by so many pixels, then perhaps flipped.
struct Jitter {
  std::int64_t down = 0, right = 0;
  bool flipped = false;
};

// A function of (seed, epoch, image) alone, so that neither threads nor resuming change what is seen.
Jitter draw_jitter(const Augment& augment, std::uint64_t seed, std::int64_t epoch, std::int64_t image);

}  // namespace headroom
