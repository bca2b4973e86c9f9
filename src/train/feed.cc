#include "train/feed.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/shares.h"
#include "base/spans.h"
#include "ops/operator.h"
#include "plan/plan.h"

namespace headroom {
namespace {

const SpanName kCopySpan{"copying images host -> device"}, kGatherSpan{"gather a batch"};

std::int64_t batches_of(const Split& split, const LoaderOptions& o) {
  return (split.count() + o.batch - 1) / o.batch;
}

std::size_t image_bytes(const LoaderOptions& o) {
  return static_cast<std::size_t>(o.input.numel()) * size_of(o.dtype);
}

std::size_t label_bytes(const Split& split) {
  return static_cast<std::size_t>(split.labels_each()) * sizeof(std::int32_t);
}

class HostFeed final : public Feed {
 public:
  HostFeed(const Split& split, const LoaderOptions& o) : Feed(batches_of(split, o)), loader_(split, o) {}
  const DeviceBatch* next() override {
    const Batch* b = loader_.next();
    if (b == nullptr) return nullptr;
    batch_ = {b->images, b->labels, b->count, b->last_of_epoch, b->global, b->first};
    return &batch_;
  }
  std::string_view how() const override { return "host"; }

 private:
  Loader loader_;
  DeviceBatch batch_;
};

// The device holds the whole set in the network's input format. In file order a batch is an address in it; if
// shuffled, the device gathers its rows.
class ResidentFeed final : public Feed {
 public:
  ResidentFeed(Device& device, const Split& split, const LoaderOptions& o)
      : Feed(batches_of(split, o)),
        device_(device),
        options_(o),
        count_(split.count()),
        labels_each_(split.labels_each()),
        epoch_(o.first_epoch),
        batch_number_(o.first_batch) {
    images_ = device.allocate(image_bytes(o) * static_cast<std::size_t>(count_));
    labels_ = device.allocate(label_bytes(split) * static_cast<std::size_t>(count_));
    fill(split);
    if (!o.shuffle) return;
    order_ = device.allocate(sizeof(std::int64_t) * static_cast<std::size_t>(count_));
    batch_images_ = device.allocate(image_bytes(o) * static_cast<std::size_t>(o.batch));
    batch_labels_ = device.allocate(label_bytes(split) * static_cast<std::size_t>(o.batch));
    batch_.images = batch_images_.data();  // needed if this rank gets nothing of the first batch
    batch_.labels = static_cast<const std::int32_t*>(batch_labels_.data());
  }

  const DeviceBatch* next() override {
    if (batch_number_ == batches_per_epoch()) ++epoch_, batch_number_ = 0;
    if (epoch_ >= options_.epochs) return nullptr;
    const std::int64_t first = batch_number_++ * options_.batch;
    batch_.global = std::min(options_.batch, count_ - first);
    batch_.last_of_epoch = first + batch_.global == count_;
    const Share share = share_of(batch_.global, options_.parts, options_.part);
    batch_.first = share.first, batch_.count = share.count;
    const std::int64_t own = std::min(first + share.first, count_ - 1);  // nobody reads an empty share
    if (options_.shuffle) {
      if (share.count > 0) gather(own);
    } else {
      batch_.images =
          static_cast<const std::byte*>(images_.data()) + image_bytes(options_) * std::size_t(own);
      batch_.labels = static_cast<const std::int32_t*>(labels_.data()) + own * labels_each_;
    }
    return &batch_;
  }
  bool keeps_batches() const override { return !options_.shuffle; }
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

  // Gathers rows of a matrix by number: the gather operator, bound once per batch size.
  struct Rows {
    std::int64_t count = 0;
    Launcher images, labels;
  };
  Launcher rows(std::int64_t count, Shape row, DType dtype) const {
    Problem p{.op = "gather", .inputs = {}, .outputs = {}, .attrs = {{"axis", std::int64_t{0}}}};
    p.inputs = {{{count_, row.numel()}, dtype}, {{count}, DType::i64}};
    p.outputs = schema_of("gather").infer(p.inputs, p.attrs);
    const Target here = device_.capabilities();
    const Kernel& kernel = *first_that_accepts(p, here).kernel;
    if (kernel.workspace && kernel.workspace(p, here) > 0)
      fail("gather: '{}' needs scratch memory", kernel.name);
    return kernel.prepare(p, {.target = here, .device = &device_});
  }
  const Rows& rows_for(std::int64_t count) {
    for (const Rows& known : rows_)
      if (known.count == count) return known;
    rows_.push_back(
        {count, rows(count, options_.input, options_.dtype), rows(count, {labels_each_}, DType::i32)});
    return rows_.back();
  }

  void gather(std::int64_t first) {
    const Span span(kGatherSpan, SpanKind::copy);
    if (ordered_epoch_ != epoch_) {
      const auto order = epoch_order(count_, true, options_.seed, epoch_);
      device_.upload(order_.data(), order.data(), order.size() * sizeof(std::int64_t));
      ordered_epoch_ = epoch_;
    }
    const Rows& launch = rows_for(batch_.count);
    const void* numbers = static_cast<const std::int64_t*>(order_.data()) + first;
    const std::array<const void*, 2> images = {images_.data(), numbers}, labels = {labels_.data(), numbers};
    void *to_images = batch_images_.data(), *to_labels = batch_labels_.data();
    launch.images({images.data(), &to_images, nullptr, &device_.stream()});
    launch.labels({labels.data(), &to_labels, nullptr, &device_.stream()});
    batch_.images = to_images;
    batch_.labels = static_cast<const std::int32_t*>(to_labels);
  }

  Device& device_;
  const LoaderOptions options_;
  const std::int64_t count_, labels_each_;
  std::int64_t epoch_, batch_number_, ordered_epoch_ = -1;
  Buffer images_, labels_, order_, batch_images_, batch_labels_;
  std::vector<Rows> rows_;
  DeviceBatch batch_;
};

// Two buffers on the device. While the device computes on one, the next batch is copied to the other. The
// host reuses a loader's buffer only after its copy has finished.
class StreamFeed final : public Feed {
 public:
  StreamFeed(Device& device, const Split& split, LoaderOptions o, const FeedOptions& how)
      : Feed(batches_of(split, o)),
        device_(device),
        options_(o),
        how_(how),
        label_bytes_(label_bytes(split)) {
    if (how.pinned)
      o.allocate = [this](std::size_t bytes) {
        return pinned_.emplace_back(device_.allocate_host(bytes)).data();
      };
    loader_ = std::make_unique<Loader>(split, o);
    for (Place& place : places_) {
      allocate(place);
      place.copied = device.make_event(), place.used = device.make_event();
    }
    if (how_.overlap) fetch(places_[0]);
  }

  // All work queued so far may use the batch returned last.
  const DeviceBatch* next() override {
    if (!how_.overlap) {
      fetch(places_[0]);
      return handed(places_[0]);
    }
    if (handed_ >= 0) {
      Place& last = places_[static_cast<std::size_t>(handed_)];
      last.used->record(device_.stream());
      last.used->hold(device_.copy_stream());
    }
    handed_ = handed_ < 0 ? 0 : 1 - handed_;
    Place& place = places_[static_cast<std::size_t>(handed_)];
    if (place.batch.global == 0) return nullptr;
    place.copied->hold(device_.stream());
    place.copied->synchronize();  // the loader may then refill that buffer
    fetch(places_[static_cast<std::size_t>(1 - handed_)]);
    return handed(place);
  }
  std::string_view how() const override {
    if (!how_.reuse) return how_.pinned ? "pinned, fresh buffers" : "pageable, fresh buffers";
    if (how_.pinned) return how_.overlap ? "pinned, overlapped" : "pinned";
    return how_.overlap ? "pageable, overlapped" : "pageable";
  }

 private:
  struct Place {
    Buffer images, labels;
    std::unique_ptr<Event> copied, used;
    DeviceBatch batch;
  };

  void allocate(Place& place) {
    place.images = device_.allocate(image_bytes(options_) * static_cast<std::size_t>(options_.batch));
    place.labels = device_.allocate(label_bytes_ * static_cast<std::size_t>(options_.batch));
  }

  void fetch(Place& place) {
    place.batch = {};
    const Batch* b = loader_->next();
    if (b == nullptr) return;
    if (!how_.reuse) {
      device_.stream().synchronize();  // the computation may still read the old buffers
      allocate(place);
    }
    Stream& stream = how_.overlap ? device_.copy_stream() : device_.stream();
    const auto n = static_cast<std::size_t>(b->count);
    const Span span(kCopySpan, SpanKind::copy);
    device_.upload_async(place.images.data(), b->images, n * image_bytes(options_), stream);
    device_.upload_async(place.labels.data(), b->labels, n * label_bytes_, stream);
    if (how_.overlap)
      place.copied->record(stream);
    else
      stream.synchronize();
    place.batch = {place.images.data(),
                   static_cast<const std::int32_t*>(place.labels.data()),
                   b->count,
                   b->last_of_epoch,
                   b->global,
                   b->first};
  }
  const DeviceBatch* handed(const Place& place) const {
    return place.batch.global == 0 ? nullptr : &place.batch;
  }

  Device& device_;
  const LoaderOptions options_;
  const FeedOptions how_;
  const std::size_t label_bytes_;
  std::vector<Buffer> pinned_;
  std::unique_ptr<Loader> loader_;
  std::array<Place, 2> places_;
  int handed_ = -1;
};

// Half of the free memory: the plans' scratch memory may still grow.
bool fits(Device& device, const Split& split, const LoaderOptions& o) {
  return 2 * image_bytes(o) * static_cast<std::size_t>(split.count()) <= device.free_bytes_now();
}

}  // namespace

std::unique_ptr<Feed> make_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                const FeedOptions& options) {
  if (device.kind() == DeviceKind::cpu) return std::make_unique<HostFeed>(split, loader);
  if (options.resident && !loader.augment.any() && fits(device, split, loader))
    return make_resident_feed(device, split, loader);
  return make_stream_feed(device, split, loader, options);
}

std::unique_ptr<Feed> make_resident_feed(Device& device, const Split& split, const LoaderOptions& loader) {
  return std::make_unique<ResidentFeed>(device, split, loader);
}

std::unique_ptr<Feed> make_stream_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                       const FeedOptions& options) {
  return std::make_unique<StreamFeed>(device, split, loader, options);
}

}  // namespace headroom
