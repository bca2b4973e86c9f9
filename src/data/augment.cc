#include "data/augment.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::int64_t kUsualCrop = 4;  // the usual padding of 32x32 images
constexpr std::int64_t kMaxCrop = 1024;
constexpr std::uint64_t kAugmentStream = 0x6A697474;  // separate from every other use of the seed

// Maps 32 random bits to 0 ... bound - 1.
std::int64_t scaled_to(std::uint32_t bits, std::int64_t bound) {
  return static_cast<std::int64_t>(std::uint64_t{bits} * static_cast<std::uint64_t>(bound) >> 32);
}

}  // namespace

Augment parse_augment(std::string_view text) {
  const std::vector<std::string> names = {"crop", "flip"};
  Augment augment;
  std::vector<std::string> seen;
  for (const std::string& item : split(text, ',')) {
    const std::size_t colon = item.find(':');
    const std::string name = item.substr(0, colon);
    if (std::find(names.begin(), names.end(), name) == names.end())
      reject(nearest(name, names), "`augment` does not know '{}'", name);
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      reject(Hint{"give it once"}, "`augment` names '{}' twice", name);
    seen.push_back(name);
    const bool valued = colon != std::string::npos;
    if (name == "flip") {
      if (valued) reject(Hint{"write `augment` flip"}, "`augment` is '{}': flip takes no number", item);
      augment.flip = true;
    } else {
      augment.crop = valued ? parse_int(item.substr(colon + 1), "`augment` crop") : kUsualCrop;
      if (augment.crop < 1 || augment.crop > kMaxCrop)
        reject("`augment` crop:{}: the padding must lie between 1 and {} pixels", augment.crop, kMaxCrop);
    }
  }
  return augment;
}

Jitter draw_jitter(const Augment& augment, std::uint64_t seed, std::int64_t epoch, std::int64_t image) {
  if (!augment.any()) return {};
  const Philox random(seed, stream_of(kAugmentStream, static_cast<std::uint64_t>(epoch)));
  const auto bits = random.block(static_cast<std::uint64_t>(image));
  const std::int64_t places = 2 * augment.crop + 1;
  return {scaled_to(bits[0], places) - augment.crop, scaled_to(bits[1], places) - augment.crop,
          augment.flip && bits[2] >> 31 == 1};
}

}  // namespace headroom
