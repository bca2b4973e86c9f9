#pragma once

#include "device/device.h"
#include "train/program.h"

namespace headroom {

// Random inputs and labels in turn, kept on a device: what networks are timed on. Images are pixels, k / 255,
// tokens are drawn from the table that the network looks them up in. Rejects a network whose integers have
// no such table: their meaning is unknown.
void require_random_batch(const Net& net);  // the same check, and for unknown nodes, before any work
class RandomBatch {
 public:
  // For a program of one batch; `count` items in total repeat it, because drawing a whole epoch would take
  // longer than the timing.
  RandomBatch(Device& device, const Program& program, std::int64_t count);

  const void* image(std::int64_t i) const {
    return static_cast<const std::byte*>(images_.data()) + image_bytes_ * static_cast<std::size_t>(i);
  }
  const std::int32_t* label(std::int64_t i) const {
    return static_cast<const std::int32_t*>(labels_.data()) + i * labels_each_;
  }

 private:
  std::size_t image_bytes_;
  std::int64_t labels_each_;
  Buffer images_, labels_;
};

}  // namespace headroom
