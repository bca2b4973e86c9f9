#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "data/preprocess.h"

namespace headroom {

struct LoaderOptions {
  std::int64_t batch = 64;
  std::int64_t epochs = 1;  // the last epoch is epochs - 1, whatever the first
  bool shuffle = false;
  std::uint64_t seed = 0;  // the order of epoch e depends only on (seed, e)
  Preprocess preprocess;
  Shape input;               // one image in the model's format: CxHxW, or flat
  DType dtype = DType::f32;  // fp32 or fp64; int32 for text
  int depth = 3;             // batches in flight; each extra thread adds one
  int threads = 1;           // that fill batches; only the speed depends on it
  Augment augment;
  // Allocates memory for batches; null: host memory. Pinned memory is copied to a GPU without waiting.
  std::function<void*(std::size_t bytes)> allocate;
  // With several ranks, each takes its part of every batch (see share_of); `batch` is the total.
  int parts = 1, part = 0;
  // The start of a resumed run: from there on it gets the same batches as an uninterrupted one.
  std::int64_t first_epoch = 0, first_batch = 0;
};

// One batch, in buffers owned by the loader. The last one of an epoch may be short.
struct Batch {
  void* images = nullptr;          // count x input, options.dtype
  std::int32_t* labels = nullptr;  // count, times the labels of one item; targets are floats in their place
  std::int64_t count = 0;          // 0 if the batch is too small to give this rank an image
  std::int64_t epoch = 0;
  bool last_of_epoch = false;
  std::int64_t global = 0, first = 0;  // images of all ranks, and those before this rank's first
};

// Fills batches ahead on its own threads and returns them in order. Allocates nothing after construction. One
// consumer.
class Loader {
 public:
  // The split must outlive the loader. Rejects images that do not fit the input, and batches larger than the
  // set.
  Loader(const Split& split, const LoaderOptions& options);
  Loader(Split&&, const LoaderOptions&) = delete;
  ~Loader();  // stops the threads, even with batches left
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Blocks until a batch is ready; it stays valid until the next call. Null after the last epoch.
  const Batch* next();
  std::int64_t batches_per_epoch() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The order of the images in an epoch, as many as the span has: a function of (shuffle, seed, epoch) only.
void fill_order(std::span<std::int64_t> order, bool shuffle, std::uint64_t seed, std::int64_t epoch);

// Rejects images of a shape that does not fit the input, and names both shapes: other channels, larger, or
// more than four pixels smaller per side (28x28 fits 32x32). Flat inputs take any image with the same number
// of elements.
void require_fit(const Shape& image, const Shape& input);

}  // namespace headroom
