#pragma once

#include <array>
#include <future>

#include "device/device.h"

namespace headroom {

// The order of the images of each epoch, in a device's memory. A thread of its own shuffles the next epoch
// while the device trains on this one: 60,000 numbers take a millisecond, as long as an epoch of a small
// network.
class OrderAhead {
 public:
  OrderAhead(Device& device, std::int64_t count, std::uint64_t seed, std::int64_t first_epoch,
             std::int64_t epochs);
  ~OrderAhead();
  OrderAhead(const OrderAhead&) = delete;
  OrderAhead& operator=(const OrderAhead&) = delete;

  // Puts the order of this epoch in place, after what is queued already; true if another was there.
  bool advance(std::int64_t epoch);
  // Valid for work queued before the next epoch.
  const std::int64_t* data() const { return static_cast<const std::int64_t*>(on_device_.data()); }

 private:
  struct Draft {
    Buffer order;                  // pinned, so that its copy is queued as well
    std::unique_ptr<Event> taken;  // the copy has finished
    std::int64_t epoch = -1;
    std::future<void> done;
  };
  void begin(Draft& draft, std::int64_t epoch);

  Device& device_;
  std::int64_t count_, epochs_, here_ = -1;
  std::uint64_t seed_;
  Buffer on_device_;
  std::array<Draft, 2> drafts_;  // take turns
};

}  // namespace headroom
