#pragma once

#include <cstdint>

namespace headroom {

// The part of `count` items for one of `parts`, in order: the first (count mod parts) parts have one more.
struct Share {
  std::int64_t first = 0, count = 0;
};
constexpr Share share_of(std::int64_t count, int parts, int index) {
  const std::int64_t each = count / parts, more = count % parts;
  return {index * each + (index < more ? index : more), each + (index < more ? 1 : 0)};
}

}  // namespace headroom
