#include "bench/product.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/random.h"
#include "bench/sampler.h"
#include "ops/cpu/blas.h"

namespace headroom {
namespace {

// The library's own sgemm on the CPU, with the best number of threads.
class LibraryProduct final : public Product {
 public:
  explicit LibraryProduct(Device& device) : a_(kSize * kSize, 0.5f), b_(a_), c_(a_) {
    const int most = device.capabilities().threads;
    double best_seconds = INFINITY;
    for (int threads = 1; threads <= most;
         threads = threads < most ? std::min(2 * threads, most) : most + 1) {
      const double seconds =
          sample(device, {.warm_ups = 1, .min_samples = 2, .max_samples = 2}, [&] { run_on(threads); }).min;
      if (seconds < best_seconds) threads_ = threads, best_seconds = seconds;
    }
  }
  void run() override { run_on(threads_); }
  std::int64_t size() const override { return kSize; }
  int threads() const override { return threads_; }

 private:
  static constexpr std::int64_t kSize = 2048;
  void run_on(int threads) { library_sgemm(threads, kSize, a_.data(), b_.data(), c_.data()); }

  std::vector<float> a_, b_, c_;
  int threads_ = 1;
};

// The engine's own matmul on a GPU, in the precision of the run, on random data: zeros would run faster.
class MatmulProduct final : public Product {
 public:
  MatmulProduct(Device& device, const EngineOptions& options) : storage_(device), arena_(device) {
    const Target target = target_of(device.capabilities(), options);
    Graph graph;
    const TensorType type{{kSize, kSize}, options.precision};
    std::vector<ValueId> factors;
    for (const char* name : {"a", "b"}) {
      factors.push_back(graph.add_value({.name = name, .type = type, .role = Role::input}));
      buffers_.push_back(device.allocate(static_cast<std::size_t>(type.bytes())));
      fill(device, buffers_.back(), type);
    }
    graph.outputs = graph.add_node("matmul", factors, {}, "product");
    executor_ = std::make_unique<Executor>(plan_operators(graph, options.precision, target, options.choose),
                                           storage_, arena_);
    for (std::size_t i = 0; i < 2; ++i) executor_->bind(factors[i], buffers_[i].data());
  }
  void run() override { executor_->run(); }
  std::int64_t size() const override { return kSize; }

 private:
  static constexpr std::int64_t kSize = 4096;
  static void fill(Device& device, const Buffer& to, const TensorType& type) {
    std::vector<std::byte> host(static_cast<std::size_t>(type.bytes()));
    const auto count = static_cast<std::size_t>(type.shape.numel());
    if (is_16bit(type.dtype)) {
      for (std::size_t i = 0; i < count; ++i)
        reinterpret_cast<std::uint16_t*>(host.data())[i] = half_bits(type.dtype, Philox(5).uniform(i) - 0.5);
    } else {
      dispatch_float(type.dtype, [&]<class T>() {
        for (std::size_t i = 0; i < count; ++i)
          reinterpret_cast<T*>(host.data())[i] = static_cast<T>(Philox(5).uniform(i) - 0.5);
      });
    }
    device.upload(to.data(), host.data(), host.size());
  }

  Storage storage_;
  Arena arena_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace

std::unique_ptr<Product> make_product(Device& device, const EngineOptions& options) {
  if (device.kind() == DeviceKind::cpu) return std::make_unique<LibraryProduct>(device);
  return std::make_unique<MatmulProduct>(device, options);
}

}  // namespace headroom
