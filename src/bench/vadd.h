#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "device/device.h"

namespace headroom {

// y = x + y over vectors of fp32: who adds, and where the vectors are.
enum class VaddLaunch { one_core, all_cores, one_thread, one_block, full_grid };
enum class VaddMemory { host, copied, pinned, managed, prefetched };

struct VaddTiming {
  std::int64_t elements = 0;
  VaddLaunch launch = VaddLaunch::one_core;
  VaddMemory memory = VaddMemory::host;
  std::string runs_on = {};                      // "CPU, 2 threads", "GPU <1,256>"
  std::string why_not = {};                      // why it was not run; then nothing below is set
  Sampled total = {};                            // copy in, addition and copy out
  Spread copy_in = {}, add = {}, copy_out = {};  // no samples: there is no such part

  bool on_gpu() const { return memory != VaddMemory::host; }
  // Two vectors are read and one is written.
  double bytes_per_s() const { return 12.0 * static_cast<double>(elements) / add.median; }
};

std::string_view name_of(VaddMemory memory);

// Every way to add on these devices, for each number of elements. `gpu` may be null: its rows are then listed
// with the reason. Every result is checked before its time is kept. Call require_vadd first.
struct VaddRequest {
  std::vector<std::int64_t> elements = {1'000'000, 5'000'000, 10'000'000, 50'000'000, 100'000'000};
  std::string why_no_gpu;
};
std::vector<VaddTiming> bench_vadd(Device& cpu, Device* gpu, const VaddRequest& request,
                                   const std::function<void(const std::string&)>& progress);

// Rejects numbers of elements that are not positive or do not fit into the memories, managed memory
// included. Allocates nothing.
void require_vadd(std::span<const std::int64_t> elements, Device* gpu);

// Published milliseconds of the lab on a Quadro RTX 8000; 0: none.
struct PublishedVadd {
  double add_ms = 0, copy_in_ms = 0, copy_out_ms = 0;
};
PublishedVadd published_vadd(std::int64_t elements, VaddLaunch launch, VaddMemory memory);

}  // namespace headroom
