#include "comm/groups.h"

#include <algorithm>
#include <chrono>

namespace headroom {

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

// If the exchange thread has no core of its own, the main thread blocks here, so this counts as waiting.
Communicator::Ticket Groups::begin(Communicator& ranks, const Collective& collective) {
  const auto start = Clock::now();
  const Communicator::Ticket ticket = ranks.start(collective);
  exposed_ += since(start);
  return ticket;
}

void Groups::wait(const Pending& pending) {
  // Time the GPU still spends computing does not count as waiting.
  if (pending.device != nullptr && !captures_) pending.device->stream().synchronize();
  const auto start = Clock::now();
  pending.ranks->wait(pending.ticket);
  exposed_ += since(start);
}

void Groups::start(std::string_view group, const Collective& collective, const void* key) {
  Communicator& ranks = of(group);
  pending_.push_back({key, &ranks, begin(ranks, collective), collective.device});
}

void Groups::finish(const void* key) {
  for (const Pending& p : pending_)
    if (p.key == key) wait(p);
  std::erase_if(pending_, [&](const Pending& p) { return p.key == key; });
}

void Groups::run(std::string_view group, const Collective& collective) {
  Communicator& ranks = of(group);
  wait({nullptr, &ranks, begin(ranks, collective), collective.device});
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
