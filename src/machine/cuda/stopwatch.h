#pragma once

#include <memory>

#include "device/cuda/cuda_device.h"
#include "machine/timing.h"

namespace headroom::cuda {

// Times the work that a function queues on the device's stream.
class Stopwatch {
 public:
  explicit Stopwatch(Device& device)
      : device_(device), begin_(device.make_event()), end_(device.make_event()) {}

  Device& device() const { return device_; }
  cudaStream_t stream() const { return static_cast<CudaStream&>(device_.stream()).handle(); }

  template <class Work>
  double seconds(Work&& work) {
    begin_->record(device_.stream());
    work();
    end_->record(device_.stream());
    end_->synchronize();
    return end_->seconds_since(*begin_);
  }

  // The fastest of the trials that fit into `length` seconds, after one warm-up.
  template <class Work>
  double least_seconds(double length, Work&& work) {
    seconds(work);
    const double until = now_s() + length;
    double least = seconds(work);
    while (now_s() < until) least = std::min(least, seconds(work));
    return least;
  }

 private:
  Device& device_;
  std::unique_ptr<Event> begin_, end_;
};

}  // namespace headroom::cuda
