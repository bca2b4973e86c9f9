#pragma once

#include "data/loader.h"

namespace headroom {

// What feeds count by.

inline std::int64_t batches_of(const Split& split, const LoaderOptions& o) {
  return (split.count() + o.batch - 1) / o.batch;
}
// Of one image in the network's input format, and of its labels.
inline std::size_t image_bytes(const LoaderOptions& o) {
  return static_cast<std::size_t>(o.input.numel()) * size_of(o.dtype);
}
inline std::size_t label_bytes(const Split& split) {
  return static_cast<std::size_t>(split.labels_each()) * sizeof(std::int32_t);
}

// What a resident feed takes of the device's memory for images.
std::size_t resident_bytes(const Split& split, const LoaderOptions& loader, bool together);

}  // namespace headroom
