#include "bench/random_batch.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace headroom {

void require_images(const std::string& network, const TensorType& images) {
  if (!is_float(images.dtype))
    reject(Hint{"headroom train and eval time it on a text: `data` text:FILE"},
           "network '{}' reads {}, not images: there is nothing to time it on", network,
           name_of(images.dtype));
}

RandomBatch::RandomBatch(Device& device, const TensorType& type, std::int64_t classes, std::int64_t count) {
  const std::int64_t batch = type.shape[0];
  image_bytes_ = static_cast<std::size_t>(type.bytes() / batch);
  images_ = device.allocate(image_bytes_ * static_cast<std::size_t>(count));
  labels_ = device.allocate(sizeof(std::int32_t) * static_cast<std::size_t>(count));
  dispatch_float(type.dtype, [&]<class T>() {
    std::vector<T> values(static_cast<std::size_t>(type.shape.numel()));
    const Philox random(3);
#pragma omp parallel for
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(random.normal(i));
    for (std::int64_t first = 0; first < count; first += batch)
      device.upload(const_cast<void*>(image(first)), values.data(),
                    image_bytes_ * static_cast<std::size_t>(std::min(batch, count - first)));
  });
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % classes));
  device.upload(labels_.data(), labels.data(), labels.size() * sizeof(std::int32_t));
}

}  // namespace headroom
