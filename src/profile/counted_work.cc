#include "profile/counted_work.h"

#include <algorithm>

#include "profile/gpu_counters.h"

namespace headroom {
namespace {

constexpr double kSectorBytes = 32;

bool is_multiply_add(const std::string& counter) { return counter.ends_with("-fma"); }

// The share of the padded extent that lies inside the product.
double share_in_tiles(std::int64_t extent, std::int64_t tile) {
  if (extent < 1 || tile < 1) return 1;
  return double(extent) / double((extent + tile - 1) / tile * tile);
}

}  // namespace

std::vector<std::string> operation_counters() {
  std::vector<std::string> names;
  for (const GpuCounter& counter : gpu_counters()) {
    const std::string name = counter.name;
    const bool of_threads = name.starts_with("fp32-") || name.starts_with("fp64-");
    const bool of_tensors = name.starts_with("tensor-") && name != "tensor-instructions";
    if (of_threads || (of_tensors && name != "tensor-fp8")) names.push_back(name);
  }
  return names;
}

std::optional<double> CountedWork::counter(const std::string& name) const {
  const auto it = std::ranges::find_if(
      counters, [&](const auto& entry) { return entry.first.substr(entry.first.find(':') + 1) == name; });
  return it == counters.end() ? std::nullopt : std::optional(it->second);
}

std::optional<double> CountedWork::flops() const {
  double sum = 0;
  for (const std::string& name : operation_counters()) {
    const std::optional<double> operations = counter(name);
    if (!operations) return {};
    sum += (is_multiply_add(name) ? 2 : 1) * *operations;
  }
  return sum;
}

std::optional<double> CountedWork::l2_bytes() const {
  if (const std::optional<double> sectors = counter("l2-sectors")) return kSectorBytes * *sectors;
  return counter("l2-bytes");
}

std::optional<double> CountedWork::dram_bytes() const {
  const std::optional<double> read = counter("dram-read"), written = counter("dram-write");
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

double executed_flops(const KernelLaunch& launch) {
  if (launch.executed) return *launch.executed;
  if (launch.useful < 1) return launch.flops / std::max(1e-3, launch.useful);
  const ProductExtent &extent = launch.extent, &tile = launch.tile;
  return launch.flops / (share_in_tiles(extent.m, tile.m) * share_in_tiles(extent.n, tile.n) *
                         share_in_tiles(extent.k, tile.k));
}

double executed_flops(const Work& work) {
  double sum = 0;
  for (const KernelLaunch& launch : work.launches) sum += executed_flops(launch);
  return sum;
}

double l2_bytes(const Work& work) {
  double sum = 0;
  for (const KernelLaunch& launch : work.launches)
    sum += launch.l2_bytes > 0 ? launch.l2_bytes : launch.bytes;
  return sum;
}

Plan plan_of_runs(std::span<const CountedRun> runs) {
  Plan plan;
  for (const CountedRun& run : runs) plan.steps.push_back(*run.step);
  return plan;
}

std::vector<CountedWork> count_runs(StepCounts& counts, Stream& stream, std::span<const CountedRun> runs) {
  const std::int64_t repeats = counts.refused() ? 0 : counts.runs();
  counts.open();
  for (std::int64_t i = 0; i < repeats; ++i)
    for (std::size_t step = 0; step < runs.size(); ++step) {
      counts.begin(step, stream);
      runs[step].run();
      counts.end(step, stream);
    }
  counts.close();
  counts.release();
  std::vector<CountedWork> counted(runs.size());
  if (counts.refused()) return counted;
  Measurement measurement;
  measurement.steps.resize(runs.size());
  counts.add_to(measurement);
  for (std::size_t step = 0; step < runs.size(); ++step)
    counted[step].counters = std::move(measurement.steps[step].counters);
  return counted;
}

}  // namespace headroom
