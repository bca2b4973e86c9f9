#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "profile/sample_store.h"

namespace headroom {

// Something that can be read again and again: the cores, the memory, a process, a GPU.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::vector<SeriesInfo> series() const = 0;  // the same list every time
  // Writes one value per series. Leaves kNotRead, which is there before, where a reading fails.
  virtual void read(double seconds, std::span<double> values) = 0;
  virtual std::vector<std::string> absent() const { return {}; }  // what this machine does not offer
};

// Reads all sources every interval on a thread of its own, from construction until stop.
class MachineSampler {
 public:
  // With the first 4096 samples nothing is thinned: 6 minutes at the usual 100 ms.
  static constexpr std::size_t kMaxRows = 4096;

  MachineSampler(std::vector<std::unique_ptr<SampleSource>> sources, double interval_s,
                 std::size_t max_rows = kMaxRows);
  ~MachineSampler();

  Samples stop();  // takes a last sample, if there was time for a first

 private:
  void run();
  void sample();
  void join();

  std::vector<std::unique_ptr<SampleSource>> sources_;
  std::vector<std::size_t> sizes_;  // series of each source
  double interval_s_, start_s_, cost_s_ = 0;
  SampleStore store_;
  std::vector<double> values_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headroom
