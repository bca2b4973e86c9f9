#pragma once

#include <functional>
#include <memory>

#include "data/loader.h"
#include "device/device.h"

namespace headroom {

// How batches reach a device. A CPU reads them where the loader wrote them and ignores these options.
struct FeedOptions {
  bool resident = true;   // keep the whole set on the device if it fits and is not augmented
  bool pinned = true;     // else: stream from pinned host memory,
  bool overlap = true;    // and copy the next batch during the computation,
  bool reuse = true;      // into two buffers that take turns; else into fresh ones for each batch
  bool together = false;  // batches of a shuffled resident set: gather several at once, and keep them
};

// A batch in the device's memory.
struct DeviceBatch {
  const void* images = nullptr;
  const std::int32_t* labels = nullptr;
  std::int64_t count = 0;
  bool last_of_epoch = false;
  std::int64_t global = 0, first = 0;  // of a batch shared by ranks: see Batch
};

class Feed {
 public:
  virtual ~Feed() = default;
  // Valid for work queued before the next call; null after the last epoch.
  virtual const DeviceBatch* next() = 0;
  // True if the last kKeptBatches of an epoch stay where they are, so that work for several can be queued at
  // once.
  virtual bool keeps_batches() const { return false; }
  static constexpr std::int64_t kKeptBatches = 16;
  virtual std::string_view how() const = 0;  // "host", "resident", "pinned, overlapped", …
  std::int64_t batches_per_epoch() const { return batches_per_epoch_; }

 protected:
  explicit Feed(std::int64_t batches_per_epoch) : batches_per_epoch_(batches_per_epoch) {}

 private:
  std::int64_t batches_per_epoch_;
};

// The split must outlive the feed. Every kind of feed gives the loader's batches, in its order, with its
// values.
std::unique_ptr<Feed> make_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                const FeedOptions& options);

// The two feeds of a GPU, usable on any device.
std::unique_ptr<Feed> make_resident_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                         bool together);
std::unique_ptr<Feed> make_stream_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                       const FeedOptions& options);

}  // namespace headroom
