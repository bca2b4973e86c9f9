#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "data/preprocess.h"

namespace headroom {

struct LoaderOptions {
  std::int64_t batch = 64;
  std::int64_t epochs = 1;  // the last epoch is epochs - 1, wherever the first one begins
  bool shuffle = false;
  std::uint64_t seed = 0;  // order of epoch e is a function of (seed, e) alone
  Preprocess preprocess;
  Shape input;               // one image as the model takes it: CxHxW, or flat
  DType dtype = DType::f32;  // fp32 or fp64; int32 for text
  int depth = 3;             // batches in flight; each thread beyond the first adds one
  int threads = 1;           // that fill batches; they change nothing but the speed
  Augment augment;
  // Memory for batches: null takes the host's own. Pinned memory is copied to a GPU without waiting.
  std::function<void*(std::size_t bytes)> allocate;
  // Of several ranks, each takes its part of every batch (see share_of); `batch` is what all take together.
  int parts = 1, part = 0;
  // Where a resumed run begins: it sees the very batches that an undisturbed one sees from there on.
  std::int64_t first_epoch = 0, first_batch = 0;
};

// One batch, in buffers that belong to the loader. The last one of an epoch may be short.
struct Batch {
  void* images = nullptr;          // count x input, options.dtype
  std::int32_t* labels = nullptr;  // count, times the labels of one item
  std::int64_t count = 0;          // 0 where the batch is too small for every rank to get an image
  std::int64_t epoch = 0;
  bool last_of_epoch = false;
  std::int64_t global = 0, first = 0;  // images of all ranks, and how many of them stand before this rank's
};

// Fills batches ahead on threads of its own, and hands them out in order. After construction it allocates
// nothing. One consumer.
class Loader {
 public:
  // The split has to outlive the loader. Rejects images that do not fit the input, and batches larger than
  // the set.
  Loader(const Split& split, const LoaderOptions& options);
  Loader(Split&&, const LoaderOptions&) = delete;
  ~Loader();  // stops the threads, whatever is left
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Blocks until a batch is ready; it stays valid until the next call. Null after the last epoch.
  const Batch* next();
  std::int64_t batches_per_epoch() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The order in which an epoch takes the images: a function of (shuffle, seed, epoch) alone.
std::vector<std::int64_t> epoch_order(std::int64_t count, bool shuffle, std::uint64_t seed,
                                      std::int64_t epoch);

// Rejects (naming both shapes) when images of this shape cannot be fed to that input: other channels, larger,
// or more than four pixels smaller per side (28x28 fits 32x32). Flat inputs take any image of as many
// elements.
void require_fit(const Shape& image, const Shape& input);

}  // namespace headroom
