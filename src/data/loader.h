#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace headroom {

// value = (pixel * scale - mean) / deviation, after centring the image in the model's input (zero pixels
// around it).
struct Preprocess {
  double scale = 1.0 / 255;
  double mean = 0.1307;  // mean and deviation of handwritten digits in [0, 1]
  double deviation = 0.3081;
  static Preprocess raw() { return {1, 0, 1}; }
};

struct LoaderOptions {
  std::int64_t batch = 64;
  std::int64_t epochs = 1;
  bool shuffle = false;
  std::uint64_t seed = 0;  // order of epoch e is a function of (seed, e) alone
  Preprocess preprocess;
  Shape input;               // one image as the model takes it: CxHxW, or flat
  DType dtype = DType::f32;  // fp32 or fp64
  int depth = 3;             // batches in flight
};

// One batch, in buffers that belong to the loader. The last one of an epoch may be short.
struct Batch {
  void* images = nullptr;          // count x input, options.dtype
  std::int32_t* labels = nullptr;  // count
  std::int64_t count = 0;
  std::int64_t epoch = 0;
  bool last_of_epoch = false;
};

// Fills batches ahead on a thread of its own. After construction it allocates nothing. One consumer.
class Loader {
 public:
  // The split has to outlive the loader. Rejects images that do not fit the input, and batches larger than
  // the set.
  Loader(const Split& split, const LoaderOptions& options);
  Loader(Split&&, const LoaderOptions&) = delete;
  ~Loader();  // stops the thread, whatever is left
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Blocks until a batch is ready; it stays valid until the next call. Null after the last epoch.
  const Batch* next();
  std::int64_t batches_per_epoch() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Rejects (naming both shapes) when images of this shape cannot be fed to that input: other channels, larger,
// or more than four pixels smaller per side (28x28 fits 32x32). Flat inputs take any image of as many
// elements.
void require_fit(const Shape& image, const Shape& input);

}  // namespace headroom
