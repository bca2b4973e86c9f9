#pragma once

#include "base/shape.h"
#include "device/device.h"

namespace headroom {

// Rejects networks with other inputs: integers have a meaning and cannot be drawn.
void require_images(const std::string& network, const TensorType& images);

// Random normal images and labels in turn, kept on a device: the input for timing networks.
class RandomBatch {
 public:
  // `images` is the type of one batch; `count` images in total repeat it, because drawing a whole epoch would
  // take longer than the timing.
  RandomBatch(Device& device, const TensorType& images, std::int64_t classes, std::int64_t count);

  const void* image(std::int64_t i) const {
    return static_cast<const std::byte*>(images_.data()) + image_bytes_ * static_cast<std::size_t>(i);
  }
  const std::int32_t* label(std::int64_t i) const {
    return static_cast<const std::int32_t*>(labels_.data()) + i;
  }

 private:
  std::size_t image_bytes_;
  Buffer images_, labels_;
};

}  // namespace headroom
