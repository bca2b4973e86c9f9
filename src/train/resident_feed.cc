// The training set in a device's memory.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/shares.h"
#include "base/spans.h"
#include "ops/operator.h"
#include "plan/plan.h"
#include "train/feed.h"
#include "train/feed_parts.h"
#include "train/order_ahead.h"

namespace headroom {
namespace {

const SpanName kGatherSpan{"gather a batch"};

// Batches that the device gathers at once from a shuffled set: as many as are kept, unless that takes too
// much memory, or their addresses would be odd, or this rank reads a part of each.
std::int64_t gathered_at_once(const LoaderOptions& o, bool wanted) {
  constexpr std::size_t kMaxBytes = 256u << 20, kAlignment = 256;
  const std::size_t bytes = image_bytes(o) * static_cast<std::size_t>(o.batch);
  const bool together = wanted && o.shuffle && o.parts == 1 && bytes % kAlignment == 0 &&
                        bytes * static_cast<std::size_t>(Feed::kKeptBatches) <= kMaxBytes;
  return together ? Feed::kKeptBatches : 1;
}

// The device holds the whole set in the network's input format. In file order a batch is an address in it; if
// shuffled, the device gathers its rows, those of several batches in one launch. Two buffers for these take
// turns: when one is filled, steps that are not queued yet read the other.
class ResidentFeed final : public Feed {
 public:
  ResidentFeed(Device& device, const Split& split, const LoaderOptions& o, bool together)
      : Feed(batches_of(split, o)),
        device_(device),
        options_(o),
        count_(split.count()),
        labels_each_(split.labels_each()),
        at_once_(gathered_at_once(o, together)),
        epoch_(o.first_epoch),
        batch_number_(o.first_batch) {
    images_ = device.allocate(image_bytes(o) * static_cast<std::size_t>(count_));
    labels_ = device.allocate(label_bytes(split) * static_cast<std::size_t>(count_));
    fill(split);
    if (!o.shuffle) return;
    order_.emplace(device, count_, o.seed, o.first_epoch, o.epochs);
    const auto rows = static_cast<std::size_t>(std::min(at_once_ * o.batch, count_));
    for (Rows& place : gathered_) {
      place.images = device.allocate(image_bytes(o) * rows);
      place.labels = device.allocate(label_bytes(split) * rows);
      if (at_once_ == 1) break;  // one is enough
    }
    batch_.images = gathered_[0].images.data();  // needed if this rank gets nothing of the first batch
    batch_.labels = static_cast<const std::int32_t*>(gathered_[0].labels.data());
  }

  const DeviceBatch* next() override {
    if (batch_number_ == batches_per_epoch()) ++epoch_, batch_number_ = 0;
    if (epoch_ >= options_.epochs) return nullptr;
    const std::int64_t number = batch_number_++, first = number * options_.batch;
    batch_.global = std::min(options_.batch, count_ - first);
    batch_.last_of_epoch = first + batch_.global == count_;
    const Share share = share_of(batch_.global, options_.parts, options_.part);
    batch_.first = share.first, batch_.count = share.count;
    const std::int64_t own = std::min(first + share.first, count_ - 1);  // nobody reads an empty share
    if (options_.shuffle) {
      if (share.count > 0) take_gathered(number, own);
    } else {
      batch_.images =
          static_cast<const std::byte*>(images_.data()) + image_bytes(options_) * std::size_t(own);
      batch_.labels = static_cast<const std::int32_t*>(labels_.data()) + own * labels_each_;
    }
    return &batch_;
  }
  bool keeps_batches() const override { return !options_.shuffle || at_once_ == kKeptBatches; }
  std::string_view how() const override { return "resident"; }

 private:
  void fill(const Split& split) {
    LoaderOptions all = options_;
    all.shuffle = false, all.epochs = 1, all.first_epoch = 0, all.first_batch = 0;
    all.parts = 1, all.part = 0;
    all.batch = std::min<std::int64_t>(count_, 4096);
    Loader loader(split, all);
    std::size_t done = 0;
    while (const Batch* b = loader.next()) {
      const auto n = static_cast<std::size_t>(b->count);
      device_.upload(static_cast<std::byte*>(images_.data()) + done * image_bytes(options_), b->images,
                     n * image_bytes(options_));
      device_.upload(static_cast<std::byte*>(labels_.data()) + done * label_bytes(split), b->labels,
                     n * label_bytes(split));
      done += n;
    }
  }

  struct Rows {
    Buffer images, labels;
  };
  // Gathers rows of a matrix by number: the gather operator, bound once per number of rows.
  struct Gather {
    std::int64_t count = 0;
    Launcher images, labels;
  };
  Launcher gather_of(std::int64_t count, Shape row, DType dtype) const {
    Problem p{.op = "gather", .inputs = {}, .outputs = {}, .attrs = {{"axis", std::int64_t{0}}}};
    p.inputs = {{{count_, row.numel()}, dtype}, {{count}, DType::i64}};
    p.outputs = schema_of("gather").infer(p.inputs, p.attrs);
    const Target here = device_.capabilities();
    const Kernel& kernel = *first_that_accepts(p, here).kernel;
    if (kernel.workspace && kernel.workspace(p, here) > 0)
      fail("gather: '{}' needs scratch memory", kernel.name);
    return kernel.prepare(p, {.target = here, .device = &device_});
  }
  const Gather& gather_for(std::int64_t count) {
    for (const Gather& known : gathers_)
      if (known.count == count) return known;
    gathers_.push_back({count, gather_of(count, options_.input, options_.dtype),
                        gather_of(count, {labels_each_}, DType::i32)});
    return gathers_.back();
  }

  void gather(Rows& to, std::int64_t first, std::int64_t count) {
    const Span span(kGatherSpan, SpanKind::copy);
    const Gather& launch = gather_for(count);
    const void* numbers = order_->data() + first;
    const std::array<const void*, 2> images = {images_.data(), numbers}, labels = {labels_.data(), numbers};
    void *to_images = to.images.data(), *to_labels = to.labels.data();
    launch.images({images.data(), &to_images, nullptr, &device_.stream()});
    launch.labels({labels.data(), &to_labels, nullptr, &device_.stream()});
  }

  // The batch of this number, whose rows for this rank begin at `own` in the order of the epoch.
  void take_gathered(std::int64_t number, std::int64_t own) {
    const bool new_epoch = order_->advance(epoch_);
    if (new_epoch || number - first_gathered_ >= at_once_) {
      place_ = new_epoch || at_once_ == 1 ? 0 : 1 - place_;
      first_gathered_ = number;
      gather(gathered_[place_], own,
             at_once_ == 1 ? batch_.count : std::min(at_once_ * options_.batch, count_ - own));
    }
    const std::int64_t row = (number - first_gathered_) * options_.batch;
    const Rows& from = gathered_[place_];
    batch_.images =
        static_cast<const std::byte*>(from.images.data()) + image_bytes(options_) * std::size_t(row);
    batch_.labels = static_cast<const std::int32_t*>(from.labels.data()) + row * labels_each_;
  }

  Device& device_;
  const LoaderOptions options_;
  const std::int64_t count_, labels_each_, at_once_;
  std::int64_t epoch_, batch_number_;
  Buffer images_, labels_;
  std::optional<OrderAhead> order_;  // of a shuffled set
  std::array<Rows, 2> gathered_;
  std::size_t place_ = 0;
  std::int64_t first_gathered_ = 0;  // the number of the first batch there
  std::vector<Gather> gathers_;
  DeviceBatch batch_;
};

}  // namespace

std::size_t resident_bytes(const Split& split, const LoaderOptions& o, bool together) {
  const std::int64_t gathered =
      o.shuffle ? 2 * std::min(gathered_at_once(o, together) * o.batch, split.count()) : 0;
  return image_bytes(o) * static_cast<std::size_t>(split.count() + gathered);
}

std::unique_ptr<Feed> make_resident_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                         bool together) {
  return std::make_unique<ResidentFeed>(device, split, loader, together);
}

}  // namespace headroom
