#pragma once

// Counters of a GPU over time: short samples of the whole device. They do not know which kernel ran; the
// functions here assign them to layers by time.

#include <cstdint>
#include <vector>

#include "profile/intervals.h"

namespace headroom {

// How busy the parts of a GPU are, in percent of what they can do.
struct UnitUse {
  double sm = 0;      // cycles in which multiprocessors have work
  double tensor = 0;  // cycles in which tensor cores are busy
  double l2 = 0, dram = 0;
  double dram_bytes_per_s = 0;  // read and written

  void add(const UnitUse& other, double weight);
  bool operator==(const UnitUse&) const = default;
};

struct GpuSample : Trace::Interval {  // on a clock of its own
  UnitUse use;
};

// What takes times of the samples to the clock of the kernels, and how well both agree then: the correlation
// of busy multiprocessors with running kernels, at most 1.
struct ClockShift {
  std::int64_t ns = 0;  // to be added
  double correlation = 0;
};
// Samples are in order of time. Steps repeat: only idle gaps of different distances make the shift certain.
ClockShift align_samples(const std::vector<GpuSample>& samples, const IntervalSet& busy);

struct LayerKernel : Trace::Interval {
  int layer = -1;  // -1: of none
};

// Means over the time of some kernels.
struct LayerUse {
  double seconds = 0;  // within samples; two kernels at once count once
  double alone_s = 0;  // of it, in samples that no other layer and no idle time touches
  UnitUse mean = {};
};
struct SampledUse {
  std::vector<LayerUse> layers;
  LayerUse no_layer, idle, all;  // within the runs: kernels of no layer, no kernel, everything
};
// A sample counts for a layer by the time they have in common. Kernels outside the runs do not count.
SampledUse assign_samples(const std::vector<GpuSample>& samples, const std::vector<LayerKernel>& kernels,
                          const std::vector<Trace::Interval>& runs, std::int64_t shift_ns, int layers);

// One run, as the mean of all: `count` points of equal length. Runs and samples are not in step, so the
// points may be shorter than a sample.
struct RunPoint {
  double begin_s = 0, end_s = 0;
  UnitUse use = {};
};
std::vector<RunPoint> fold_samples(const std::vector<GpuSample>& samples,
                                   const std::vector<Trace::Interval>& runs, std::int64_t shift_ns,
                                   std::size_t count);

}  // namespace headroom
