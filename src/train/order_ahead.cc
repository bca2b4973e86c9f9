#include "train/order_ahead.h"

#include <span>

#include "data/loader.h"

namespace headroom {

OrderAhead::OrderAhead(Device& device, std::int64_t count, std::uint64_t seed, std::int64_t first_epoch,
                       std::int64_t epochs)
    : device_(device), count_(count), epochs_(epochs), seed_(seed) {
  const std::size_t bytes = sizeof(std::int64_t) * static_cast<std::size_t>(count);
  on_device_ = device.allocate(bytes);
  for (Draft& draft : drafts_) draft.order = device.allocate_host(bytes), draft.taken = device.make_event();
  begin(drafts_[static_cast<std::size_t>(first_epoch % 2)], first_epoch);
}

OrderAhead::~OrderAhead() {
  for (Draft& draft : drafts_)
    if (draft.epoch >= 0) draft.taken->synchronize();
}

void OrderAhead::begin(Draft& draft, std::int64_t epoch) {
  if (draft.done.valid()) draft.done.wait();         // an order that nobody asked for
  if (draft.epoch >= 0) draft.taken->synchronize();  // its last order is not needed any more
  draft.epoch = epoch;
  const std::span<std::int64_t> to(static_cast<std::int64_t*>(draft.order.data()),
                                   static_cast<std::size_t>(count_));
  draft.done =
      std::async(std::launch::async, [to, seed = seed_, epoch] { fill_order(to, true, seed, epoch); });
}

bool OrderAhead::advance(std::int64_t epoch) {
  if (epoch == here_) return false;
  Draft& draft = drafts_[static_cast<std::size_t>(epoch % 2)];
  if (draft.epoch != epoch) begin(draft, epoch);
  draft.done.get();
  device_.upload_async(on_device_.data(), draft.order.data(), draft.order.bytes(), device_.stream());
  draft.taken->record(device_.stream());
  here_ = epoch;
  if (epoch + 1 < epochs_) begin(drafts_[static_cast<std::size_t>((epoch + 1) % 2)], epoch + 1);
  return true;
}

}  // namespace headroom
