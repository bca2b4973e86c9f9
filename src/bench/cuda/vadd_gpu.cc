#include "bench/cuda/vadd_gpu.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "base/error.h"
#include "bench/cuda/vadd_kernels.h"
#include "bench/vadd_cpu.h"
#include "device/cuda/managed_memory.h"

namespace headroom::cuda {
namespace {

constexpr std::int64_t kCheckedBySlowLaunch = 1'000'003;  // odd, and quick even for one thread
constexpr double kSlow = 1;                               // seconds: a run that takes longer is timed once
constexpr std::size_t kPageFloats = 4096 / sizeof(float);

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The parts of one run, in seconds.
struct VaddParts {
  double total = 0, copy_in = 0, add = 0, copy_out = 0;
};

// Vectors in one kind of memory. run() adds them and leaves the sums where sums() points.
class VaddVectors {
 public:
  VaddVectors(CudaDevice& gpu, VaddLaunch launch) : gpu_(gpu), launch_(launch) {
    for (auto& event : events_) event = gpu.make_event();
  }
  virtual ~VaddVectors() = default;
  virtual void fill(VaddValues values, std::int64_t n) = 0;
  virtual VaddParts run(std::int64_t n) = 0;
  virtual const float* sums() const = 0;
  int blocks() const { return blocks_; }

 protected:
  cudaStream_t stream() { return static_cast<CudaStream&>(gpu_.stream()).handle(); }
  void add(std::int64_t n, const float* x, float* y) {
    if (launch_ == VaddLaunch::full_grid)
      blocks_ = launch_vadd_grid(gpu_.capabilities().multiprocessors, n, x, y, stream());
    else
      launch_vadd_block(launch_ == VaddLaunch::one_thread ? 1 : kVaddThreads, n, x, y, stream());
  }
  void mark(std::size_t i) { events_[i]->record(gpu_.stream()); }
  double between(std::size_t from, std::size_t to) const {
    return events_[to]->seconds_since(*events_[from]);
  }

  CudaDevice& gpu_;

 private:
  VaddLaunch launch_;
  int blocks_ = 1;
  std::array<std::unique_ptr<Event>, 4> events_;
};

// Two vectors copied in, one copied out.
class CopiedVectors final : public VaddVectors {
 public:
  CopiedVectors(CudaDevice& gpu, VaddLaunch launch, std::int64_t n, bool pinned) : VaddVectors(gpu, launch) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    x_ = gpu.allocate(bytes);
    y_ = gpu.allocate(bytes);
    for (std::size_t i = 0; i < host_.size(); ++i) {
      if (pinned) {
        buffers_[i] = gpu.allocate_host(bytes);
        host_[i] = static_cast<float*>(buffers_[i].data());
      } else {
        plain_[i] = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(n));
        host_[i] = plain_[i].get();
      }
    }
    std::fill_n(host_[2], n, 0.0F);  // touched: the first copy must not pay for its pages
  }

  void fill(VaddValues values, std::int64_t n) override {
    fill_vectors(values, n, host_[0], host_[1]);
    std::fill_n(host_[2], n, 0.0F);
  }
  const float* sums() const override { return host_[2]; }

  VaddParts run(std::int64_t n) override {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    gpu_.stream().synchronize();
    const double begin = now();
    mark(0);
    gpu_.upload_async(x_.data(), host_[0], bytes, gpu_.stream());
    gpu_.upload_async(y_.data(), host_[1], bytes, gpu_.stream());
    mark(1);
    add(n, static_cast<const float*>(x_.data()), static_cast<float*>(y_.data()));
    mark(2);
    gpu_.download_async(host_[2], y_.data(), bytes, gpu_.stream());
    mark(3);
    gpu_.stream().synchronize();
    return {now() - begin, between(0, 1), between(1, 2), between(2, 3)};
  }

 private:
  Buffer x_, y_;
  std::array<Buffer, 3> buffers_;
  std::array<std::unique_ptr<float[]>, 3> plain_;
  std::array<float*, 3> host_{};
};

// Pages that the driver moves: during the addition, or before and after it if they are prefetched. The
// vectors begin on the host in every run.
class ManagedVectors final : public VaddVectors {
 public:
  ManagedVectors(CudaDevice& gpu, VaddLaunch launch, std::int64_t n, bool prefetched)
      : VaddVectors(gpu, launch),
        prefetched_(prefetched),
        x_(gpu, static_cast<std::size_t>(n) * sizeof(float)),
        y_(gpu, static_cast<std::size_t>(n) * sizeof(float)) {}

  void fill(VaddValues values, std::int64_t) override { values_ = values; }
  const float* sums() const override { return static_cast<const float*>(y_.data()); }

  VaddParts run(std::int64_t n) override {
    fill_vectors(values_, n, static_cast<float*>(x_.data()), static_cast<float*>(y_.data()));
    gpu_.stream().synchronize();
    const double begin = now();
    mark(0);
    if (prefetched_) x_.prefetch_to_device(), y_.prefetch_to_device();
    mark(1);
    add(n, static_cast<const float*>(x_.data()), static_cast<float*>(y_.data()));
    mark(2);
    if (prefetched_) y_.prefetch_to_host();
    mark(3);
    gpu_.stream().synchronize();
    const double added = now();
    read_back(n);
    const double end = now();
    if (prefetched_) return {end - begin, between(0, 1), between(1, 2), between(2, 3) + (end - added)};
    return {end - begin, 0, between(1, 2), end - added};
  }

 private:
  // The host reads one element of every page, which brings the page back.
  void read_back(std::int64_t n) {
    const volatile float* sum = static_cast<const float*>(y_.data());
    for (std::int64_t i = 0; i < n; i += kPageFloats) static_cast<void>(sum[i]);
  }

  bool prefetched_;
  VaddValues values_ = VaddValues::plain;
  ManagedMemory x_, y_;
};

std::unique_ptr<VaddVectors> make_vectors(CudaDevice& gpu, VaddLaunch launch, VaddMemory memory,
                                          std::int64_t n) {
  if (memory == VaddMemory::managed || memory == VaddMemory::prefetched)
    return std::make_unique<ManagedVectors>(gpu, launch, n, memory == VaddMemory::prefetched);
  return std::make_unique<CopiedVectors>(gpu, launch, n, memory == VaddMemory::pinned);
}

std::string why_not(const CudaDevice& gpu, VaddMemory memory) {
  const bool prefetched = memory == VaddMemory::prefetched;
  std::string reason = prefetched || memory == VaddMemory::managed ? why_no_managed(gpu) : "";
  if (reason.empty() && prefetched) reason = why_no_prefetch(gpu);
  return reason;
}

void require_right(VaddValues values, std::int64_t n, const VaddVectors& vectors, const std::string& who) {
  if (const std::int64_t wrong = wrong_sums(values, n, vectors.sums()); wrong > 0)
    fail("{} of {} sums by {} are wrong", wrong, n, who);
}

std::string grid_name(VaddLaunch launch, int blocks) {
  return fmt::format("GPU <{},{}>", blocks, launch == VaddLaunch::one_thread ? 1 : kVaddThreads);
}

}  // namespace

VaddTiming time_vadd(Device& device, std::int64_t n, VaddLaunch launch, VaddMemory memory) {
  auto& gpu = static_cast<CudaDevice&>(device);
  VaddTiming timing{.elements = n, .launch = launch, .memory = memory, .runs_on = grid_name(launch, 1)};
  if (timing.why_not = why_not(gpu, memory); !timing.why_not.empty()) return timing;
  const std::unique_ptr<VaddVectors> vectors = make_vectors(gpu, launch, memory, n);

  // Values that differ from place to place. Slow launches check fewer; all sums are checked after the timing.
  const std::int64_t checked = launch == VaddLaunch::full_grid ? n : std::min(n, kCheckedBySlowLaunch);
  vectors->fill(VaddValues::varied, checked);
  const double once = vectors->run(checked).total * static_cast<double>(n) / static_cast<double>(checked);
  timing.runs_on = grid_name(launch, vectors->blocks());
  require_right(VaddValues::varied, checked, *vectors, timing.runs_on);

  vectors->fill(VaddValues::plain, n);
  SamplerOptions options{
      .warm_ups = 1, .min_samples = 5, .max_samples = 50, .max_seconds = 0.3, .noise = 0.005};
  if (once > kSlow) options = {.warm_ups = 0, .min_samples = 1, .max_samples = 1};
  timing.total = sample_in_turn(options, {[&](int repeats) -> std::vector<double> {
                                  VaddParts all;
                                  for (int r = 0; r < repeats; ++r) {
                                    const VaddParts parts = vectors->run(n);
                                    all.total += parts.total;
                                    all.copy_in += parts.copy_in;
                                    all.add += parts.add;
                                    all.copy_out += parts.copy_out;
                                  }
                                  return {all.total, all.copy_in, all.add, all.copy_out};
                                }})
                     .front();
  require_right(VaddValues::plain, n, *vectors, timing.runs_on);
  if (memory != VaddMemory::managed) timing.copy_in = timing.total.parts[0];
  timing.add = timing.total.parts[1];
  timing.copy_out = timing.total.parts[2];
  return timing;
}

}  // namespace headroom::cuda
