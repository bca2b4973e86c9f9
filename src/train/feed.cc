#include "train/feed.h"

#include <vector>

#include "base/spans.h"
#include "train/feed_parts.h"

namespace headroom {
namespace {

const SpanName kCopySpan{"copying images host -> device"};

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

}  // namespace

std::unique_ptr<Feed> make_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                const FeedOptions& options) {
  if (device.kind() == DeviceKind::cpu) return std::make_unique<HostFeed>(split, loader);
  // Half of the free memory: the plans' scratch memory may still grow.
  if (options.resident && !loader.augment.any() &&
      2 * resident_bytes(split, loader, options.together) <= device.free_bytes_now())
    return make_resident_feed(device, split, loader, options.together);
  return make_stream_feed(device, split, loader, options);
}

std::unique_ptr<Feed> make_stream_feed(Device& device, const Split& split, const LoaderOptions& loader,
                                       const FeedOptions& options) {
  return std::make_unique<StreamFeed>(device, split, loader, options);
}

}  // namespace headroom
