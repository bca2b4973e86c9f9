#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "comm/communicator.h"

namespace headroom::testing {

// Another communicator behind its own link: each operation waits for the previous one, then takes `latency`
// plus the time for its bytes. For machines whose network cannot be slowed down.
class DelayedCommunicator final : public Communicator {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  DelayedCommunicator(std::unique_ptr<Communicator> inner, double latency_s, double bytes_per_s)
      : inner_(std::move(inner)), latency_(latency_s), rate_(bytes_per_s) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string_view kind() const override { return inner_->kind(); }

  Ticket start(const Collective& collective) override {
    const double lasts = latency_ + double(collective.bytes()) / rate_;
    const auto begin = std::max(free_, Clock::now());
    free_ = begin + std::chrono::duration_cast<Clock::duration>(Seconds(lasts));
    seconds_.of(collective.kind).seconds += lasts;
    const Ticket ticket = inner_->start(collective);
    arrives_[ticket] = free_;
    return ticket;
  }
  void wait(Ticket ticket) override {
    inner_->wait(ticket);
    std::this_thread::sleep_until(arrives_.at(ticket));
    arrives_.erase(ticket);
  }

  std::unique_ptr<Communicator> split(int colour) override {
    return std::make_unique<DelayedCommunicator>(inner_->split(colour), latency_, rate_);
  }
  Traffic traffic() const override {
    Traffic traffic = inner_->traffic();
    for (std::size_t i = 0; i < traffic.lines.size(); ++i)
      traffic.lines[i].seconds += seconds_.lines[i].seconds;
    return traffic;
  }

 private:
  std::unique_ptr<Communicator> inner_;
  double latency_, rate_;
  Clock::time_point free_ = Clock::now();
  std::map<Ticket, Clock::time_point> arrives_;
  Traffic seconds_;
};

}  // namespace headroom::testing
