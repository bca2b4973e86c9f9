#include "comm/groups.h"

#include <algorithm>
#include <chrono>

namespace headroom {

void Groups::wait(const Pending& pending) {
  using Clock = std::chrono::steady_clock;
  // What a GPU has still to compute is no waiting for others.
  if (pending.device != nullptr && !captures_) pending.device->stream().synchronize();
  const auto start = Clock::now();
  pending.ranks->wait(pending.ticket);
  exposed_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void Groups::start(std::string_view group, const Collective& collective, const void* key) {
  Communicator& ranks = of(group);
  pending_.push_back({key, &ranks, ranks.start(collective), collective.device});
}

void Groups::finish(const void* key) {
  for (const Pending& p : pending_)
    if (p.key == key) wait(p);
  std::erase_if(pending_, [&](const Pending& p) { return p.key == key; });
}

void Groups::run(std::string_view group, const Collective& collective) {
  Communicator& ranks = of(group);
  wait({nullptr, &ranks, ranks.start(collective), collective.device});
}

Traffic Groups::traffic() const {
  Traffic sum = data_->traffic();
  if (model_ == data_) return sum;
  const Traffic more = model_->traffic();
  for (std::size_t i = 0; i < sum.lines.size(); ++i) {
    sum.lines[i].calls += more.lines[i].calls;
    sum.lines[i].bytes += more.lines[i].bytes;
    sum.lines[i].seconds += more.lines[i].seconds;
  }
  sum.copy_seconds += more.copy_seconds;
  sum.copy_exposed += more.copy_exposed;
  return sum;
}

}  // namespace headroom
