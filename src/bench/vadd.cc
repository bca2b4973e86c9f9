#include "bench/vadd.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "bench/host_memory.h"
#include "bench/vadd_cpu.h"
#ifdef HEADROOM_HAS_CUDA
#include "bench/cuda/vadd_gpu.h"
#endif

namespace headroom {
namespace {

// Bytes per element: x and y. Beside a GPU the host holds x, y and the result twice (pageable and pinned),
// and the managed vectors, too.
constexpr double kVectorBytes = 8, kHostBytesWithGpu = 32;

constexpr VaddLaunch kGpuLaunches[] = {VaddLaunch::one_thread, VaddLaunch::one_block, VaddLaunch::full_grid};

VaddTiming vadd_on_cpu(Device& cpu, std::int64_t n, VaddLaunch launch, int threads, float* x, float* y) {
  VaddTiming timing{
      .elements = n, .launch = launch, .runs_on = fmt::format("CPU, {}", counted(threads, "thread"))};
  for (const VaddValues values : {VaddValues::varied, VaddValues::plain}) {
    fill_vectors(values, n, x, y);
    add_vectors(threads, n, x, y);
    if (const std::int64_t wrong = wrong_sums(values, n, y); wrong > 0)
      fail("{} of {} sums by {} are wrong", wrong, n, timing.runs_on);
  }
  // A short addition runs several times in one sample: the clock is too coarse for it.
  const SamplerOptions options{.warm_ups = 1,
                               .min_samples = 5,
                               .max_samples = 200,
                               .max_seconds = 0.5,
                               .min_sample_seconds = 50e-6,
                               .noise = 0.005};
  timing.total = sample(cpu, options, [&] { add_vectors(threads, n, x, y); });
  timing.add = timing.total;
  return timing;
}

std::vector<VaddMemory> memories_of(VaddLaunch launch) {
  using enum VaddMemory;
  if (launch == VaddLaunch::full_grid) return {copied, pinned, managed, prefetched};
  return {copied, managed, prefetched};
}

VaddTiming vadd_on_gpu(Device* gpu, const VaddRequest& request, std::int64_t n, VaddLaunch launch,
                       VaddMemory memory) {
#ifdef HEADROOM_HAS_CUDA
  if (gpu != nullptr) return cuda::time_vadd(*gpu, n, launch, memory);
#else
  (void)gpu;
#endif
  const char* grid = launch == VaddLaunch::one_thread  ? "GPU <1,1>"
                     : launch == VaddLaunch::one_block ? "GPU <1,256>"
                                                       : "GPU, full grid";
  return {.elements = n, .launch = launch, .memory = memory, .runs_on = grid, .why_not = request.why_no_gpu};
}

}  // namespace

std::string_view name_of(VaddMemory memory) {
  switch (memory) {
    case VaddMemory::host:
      return "host";
    case VaddMemory::copied:
      return "copied";
    case VaddMemory::pinned:
      return "copied, pinned";
    case VaddMemory::managed:
      return "managed";
    case VaddMemory::prefetched:
      return "managed, prefetched";
  }
  return "";
}

void require_vadd(std::span<const std::int64_t> elements, Device* gpu) {
  if (elements.empty()) reject("`elements` has no number; it needs at least one");
  for (const std::int64_t n : elements)
    if (n < 1) reject("`elements` has {}; every number must be at least 1", n);
  const std::int64_t largest = *std::ranges::max_element(elements);
  const auto check = [&](double bytes_each, double usable, const std::string& where) {
    require_fits(fmt::format("`elements` {}", largest), bytes_each * static_cast<double>(largest), usable,
                 where, static_cast<std::int64_t>(usable / bytes_each), "elements");
  };
  check(gpu == nullptr ? kVectorBytes : kHostBytesWithGpu, usable_host_bytes(), "host memory");
  if (gpu != nullptr) check(kVectorBytes, usable_bytes(*gpu), "memory of " + gpu->capabilities().name);
}

std::vector<VaddTiming> bench_vadd(Device& cpu, Device* gpu, const VaddRequest& request,
                                   const std::function<void(const std::string&)>& progress) {
  std::vector<std::int64_t> sizes = request.elements;
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<VaddTiming> timings;
  const int threads = cpu.capabilities().threads;
  for (const std::int64_t n : sizes) {
    {
      const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
      const Buffer x = cpu.allocate(bytes), y = cpu.allocate(bytes);
      progress(fmt::format("{} elements on the CPU", n));
      const auto add = [&](VaddLaunch launch, int team) {
        timings.push_back(
            vadd_on_cpu(cpu, n, launch, team, static_cast<float*>(x.data()), static_cast<float*>(y.data())));
      };
      add(VaddLaunch::one_core, 1);
      if (threads > 1) add(VaddLaunch::all_cores, threads);
    }
    for (const VaddLaunch launch : kGpuLaunches)
      for (const VaddMemory memory : memories_of(launch)) {
        if (gpu != nullptr) progress(fmt::format("{} elements on the GPU, {}", n, name_of(memory)));
        timings.push_back(vadd_on_gpu(gpu, request, n, launch, memory));
      }
  }
  return timings;
}

}  // namespace headroom
