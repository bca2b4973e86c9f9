#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/alloc.h"
#include "bench/host_memory.h"
#include "machine/timing.h"

namespace headroom {
namespace {

// Small whole numbers: their products and sums are exact, so a result is right or wrong.
double left_at(std::int64_t row, std::int64_t column) {
  return static_cast<double>((3 * row + 5 * column) % 7 - 3);
}
double right_at(std::int64_t row, std::int64_t column) {
  return static_cast<double>((2 * row + column) % 5 - 2);
}

using EntryOf = double (*)(std::int64_t, std::int64_t);

std::vector<std::byte> matrix_of(DType dtype, std::int64_t rows, std::int64_t columns, EntryOf entry) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows * columns) * size_of(dtype));
  dispatch_float(dtype, [&]<class T>() {
    T* values = reinterpret_cast<T*>(bytes.data());
    for (std::int64_t i = 0; i < rows * columns; ++i)
      values[i] = static_cast<T>(entry(i / columns, i % columns));
  });
  return bytes;
}

struct CallParts {
  double allocate = 0, copy_in = 0, kernel = 0, copy_out = 0, free = 0;
  std::vector<double> list() const {
    return {allocate + copy_in + kernel + copy_out + free, allocate, copy_in, kernel, copy_out, free};
  }
  CallParts& operator+=(const CallParts& other) {
    allocate += other.allocate, copy_in += other.copy_in, kernel += other.kernel;
    copy_out += other.copy_out, free += other.free;
    return *this;
  }
};

class CalledProduct {
 public:
  CalledProduct(Device& device, const EngineOptions& options, const ProductSize& size)
      : device_(device),
        dtype_(options.precision),
        size_(size),
        a_(matrix_of(dtype_, size.m, size.k, left_at)),
        b_(matrix_of(dtype_, size.k, size.n, right_at)),
        c_(static_cast<std::size_t>(size.m * size.n) * size_of(dtype_)),
        storage_(device),
        arena_(device) {
    Graph graph;
    for (const auto& [name, rows, columns] :
         {std::tuple{"a", size.m, size.k}, std::tuple{"b", size.k, size.n}})
      factors_.push_back(
          graph.add_value({.name = name, .type = {{rows, columns}, dtype_}, .role = Role::input}));
    graph.outputs = graph.add_node("matmul", factors_, {}, "product");
    product_ = graph.outputs.front();
    executor_ = std::make_unique<Executor>(
        plan_operators(graph, dtype_, target_of(device.capabilities(), options), options.choose), storage_,
        arena_);
    arena_bytes_ = arena_.bytes();
  }

  // With fresh buffers the product's own memory is given back and asked for again, too.
  CallParts call(bool fresh) {
    CallParts parts;
    if (fresh) give_back();
    const double begin = now_s();
    if (!buffer_a_.data()) ask_for();
    const double allocated = now_s();
    device_.upload(buffer_a_.data(), a_.data(), a_.size());
    device_.upload(buffer_b_.data(), b_.data(), b_.size());
    const double copied = now_s();
    executor_->bind(factors_[0], buffer_a_.data());
    executor_->bind(factors_[1], buffer_b_.data());
    executor_->run();
    device_.stream().synchronize();
    const double multiplied = now_s();
    device_.download(c_.data(), executor_->data(product_), c_.size());
    const double back = now_s();
    if (fresh) give_back();
    const double freed = now_s();
    return {fresh ? allocated - begin : 0, copied - allocated, multiplied - copied, back - multiplied,
            fresh ? freed - back : 0};
  }

  void check(bool fresh) {
    std::ranges::fill(c_, std::byte{0xFF});  // not a number, in every precision
    call(fresh);
    dispatch_float(dtype_, [&]<class T>() {
      const T* values = reinterpret_cast<const T*>(c_.data());
      // About a thousand places, the corners among them.
      const std::int64_t all = size_.m * size_.n, step = std::max<std::int64_t>(1, all / 1009);
      for (std::int64_t i = 0; i < all; i += step) require_entry(i, static_cast<double>(values[i]));
      for (const std::int64_t i : {size_.n - 1, all - size_.n, all - 1})
        require_entry(i, static_cast<double>(values[i]));
    });
  }

 private:
  void ask_for() {
    buffer_a_ = device_.allocate(a_.size());
    buffer_b_ = device_.allocate(b_.size());
    if (arena_.bytes() == 0) arena_.reserve(arena_bytes_);
  }
  void give_back() {
    buffer_a_ = Buffer();
    buffer_b_ = Buffer();
    arena_ = Arena(device_);
  }
  void require_entry(std::int64_t i, double got) const {
    double sum = 0;
    for (std::int64_t t = 0; t < size_.k; ++t) sum += left_at(i / size_.n, t) * right_at(t, i % size_.n);
    if (!(got == sum))
      fail("a product of {} x {} x {} is wrong: row {}, column {} is {}, not {}", size_.m, size_.n, size_.k,
           i / size_.n, i % size_.n, got, sum);
  }

  Device& device_;
  DType dtype_;
  ProductSize size_;
  std::vector<std::byte> a_, b_, c_;  // the caller's
  Storage storage_;
  Arena arena_;
  std::size_t arena_bytes_ = 0;
  std::vector<ValueId> factors_;
  ValueId product_ = kNone;
  std::unique_ptr<Executor> executor_;
  Buffer buffer_a_, buffer_b_;
};

ProductTiming timing_of(const ProductSize& size, bool fresh, const Sampled& sampled) {
  ProductTiming timing{.size = size, .fresh = fresh, .total = sampled};
  if (fresh) timing.allocate = sampled.parts[0], timing.free = sampled.parts[4];
  timing.copy_in = sampled.parts[1], timing.kernel = sampled.parts[2], timing.copy_out = sampled.parts[3];
  return timing;
}

}  // namespace

const std::vector<ProductSize>& course_products() {
  static const std::vector<ProductSize> list = {{800, 1000, 784}, {800, 10, 1000}};
  return list;
}

void require_products(const Device& device, DType precision, const std::vector<ProductSize>& sizes) {
  for (const ProductSize& size : sizes) {
    for (const auto& [name, value] : {std::pair{"m", size.m}, {"n", size.n}, {"k", size.k}})
      if (value < 1) reject("`{}` is {}; it must be at least 1", name, value);
    const auto m = static_cast<double>(size.m), n = static_cast<double>(size.n),
               k = static_cast<double>(size.k);
    const double bytes = (m * k + k * n + m * n) * static_cast<double>(size_of(precision));
    const auto check = [&](double times, double usable, const std::string& where) {
      // A square product says most simply what fits.
      const double side = std::sqrt(usable / times / 3 / static_cast<double>(size_of(precision)));
      require_fits(fmt::format("a product of {} x {} x {}", size.m, size.n, size.k), times * bytes, usable,
                   where, static_cast<std::int64_t>(side), "rows and columns of square matrices");
    };
    const bool gpu = device.kind() != DeviceKind::cpu;
    check(gpu ? 1 : 2, usable_host_bytes(), "host memory");
    if (gpu) check(1, usable_bytes(device), "memory of " + device.capabilities().name);
  }
}

std::vector<ProductTiming> bench_products(Device& device, const EngineOptions& options,
                                          const std::vector<ProductSize>& sizes,
                                          const std::function<void(const std::string&)>& progress) {
  std::vector<ProductTiming> timings;
  for (const ProductSize& size : sizes) {
    progress(fmt::format("{} x {} x {}", size.m, size.n, size.k));
    CalledProduct fresh(device, options, size), reused(device, options, size);
    fresh.check(true);
    reused.check(false);
    const auto timed = [](CalledProduct& product, bool is_fresh) -> TimedBody {
      return [&product, is_fresh](int repeats) {
        CallParts all;
        for (int r = 0; r < repeats; ++r) all += product.call(is_fresh);
        return all.list();
      };
    };
    const SamplerOptions sampler{.warm_ups = 2,
                                 .min_samples = 10,
                                 .max_samples = 100,
                                 .max_seconds = 2,
                                 .noise = 0.01,
                                 .alternate = true};
    const auto sampled = sample_in_turn(sampler, {timed(fresh, true), timed(reused, false)});
    timings.push_back(timing_of(size, true, sampled[0]));
    timings.push_back(timing_of(size, false, sampled[1]));
  }
  return timings;
}

}  // namespace headroom
