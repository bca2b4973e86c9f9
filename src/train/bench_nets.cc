#include "train/bench_nets.h"

#include <omp.h>

#include <chrono>
#include <cmath>
#include <memory>

#include "base/random.h"
#include "models/zoo.h"
#include "ops/cpu/gemm.h"
#include "ops/operator.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kProduct = 2048;
constexpr double kSampleSeconds = 0.05;  // short steps are repeated until a sample is this long

double timed(const std::function<void()>& body, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

int repeats_for(const std::function<void()>& body) {
  const double once = timed(body, 2);
  return std::max(1, static_cast<int>(kSampleSeconds / once));
}

Choice reference_only(const Problem& problem, const Capabilities&) {
  return {&operator_of(problem.op).kernels.back(), "the reference", {}};
}

// One network with a batch of random images, ready for both loops.
class Runner {
 public:
  Runner(const NetWorkload& w, Device& device, DType dtype, const Chooser& choose = first_that_accepts)
      : engine_(find_net(w.model), device,
                {.precision = dtype, .seed = 1, .update = {.momentum = 0.9}, .choose = choose}),
        train_(engine_.ready(Mode::train, w.batch)),
        eval_(engine_.ready(Mode::eval, w.batch)) {
    const TensorType& type = train_.program.graph.value(train_.program.images).type;
    images_ = device.allocate(static_cast<std::size_t>(type.bytes()));
    dispatch_float(dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < type.shape.numel(); ++i)
        static_cast<T*>(images_.data())[i] = static_cast<T>(Philox(3).normal(static_cast<std::uint64_t>(i)));
    });
    const std::int64_t classes = eval_.program.graph.value(eval_.program.logits).type.shape[1];
    for (std::int64_t i = 0; i < w.batch; ++i) labels_.push_back(static_cast<std::int32_t>(i % classes));
    engine_.set_learning_rate(1e-4);
  }

  void forward() {
    eval_.executor->bind(eval_.program.images, images_.data());
    eval_.executor->bind(eval_.program.labels, labels_.data());
    eval_.executor->run();
  }
  void step() { engine_.train_step(train_, images_.data(), labels_.data(), 1); }
  std::vector<double> logits() {
    forward();
    return eval_.executor->read(eval_.program.logits);
  }

  double flop(const Engine::Ready& ready) const {
    double total = 0;
    for (const Step& step : ready.plan().steps) total += step.cost.multiply_add;
    return total;
  }
  double step_flop() const { return flop(train_); }
  double forward_flop() const { return flop(eval_); }

 private:
  Engine engine_;
  Engine::Ready& train_;
  Engine::Ready& eval_;
  Buffer images_;
  std::vector<std::int32_t> labels_;
};

void require_right(const NetWorkload& w, Device& device, DType dtype) {
  const NetWorkload small{w.model, std::min<std::int64_t>(w.batch, 32)};
  const auto got = Runner(small, device, dtype).logits(),
             want = Runner(small, device, dtype, reference_only).logits();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  if (!(std::sqrt(error / size) < 1e3 * unit_roundoff(dtype)))
    fail("{}: the chosen kernels are off the reference by {:.2g}; not timed", w.model,
         std::sqrt(error / size));
}

// The product on `threads` threads, on matrices that stay allocated.
struct Product {
  std::vector<float> a, b, c;
  Product() : a(kProduct * kProduct, 0.5f), b(a), c(a) {}
  void run(int threads) { library_sgemm(threads, kProduct, a.data(), b.data(), c.data()); }
  int best_threads(int most) {
    int best = 1;
    double best_seconds = INFINITY;
    for (int threads = 1; threads <= most;
         threads = threads < most ? std::min(2 * threads, most) : most + 1) {
      run(threads);
      const double seconds = std::min(timed([&] { run(threads); }, 1), timed([&] { run(threads); }, 1));
      if (seconds < best_seconds) best = threads, best_seconds = seconds;
    }
    return best;
  }
};

}  // namespace

const std::vector<NetWorkload>& net_workloads() {
  static const std::vector<NetWorkload> list = {{"mlp:hidden=512", 3000},
                                                {"mlp:hidden=64", 3200},
                                                {"mlp:hidden=100", 800},
                                                {"lenet5", 256},
                                                {"ece408", 100}};
  return list;
}

NetBench bench_nets(Device& device, DType dtype, const std::vector<NetWorkload>& workloads, int rounds,
                    const std::function<void(const std::string&)>& progress) {
  NetBench bench;
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<std::array<int, 2>> repeats;
  for (const NetWorkload& w : workloads) {
    progress(fmt::format("{}: checking against the reference", w.model));
    require_right(w, device, dtype);
    runners.push_back(std::make_unique<Runner>(w, device, dtype));
    Runner& r = *runners.back();
    repeats.push_back({repeats_for([&] { r.forward(); }), repeats_for([&] { r.step(); })});
    bench.nets.push_back({w, {}, {}, r.forward_flop(), r.step_flop()});
  }
  Product product;
  bench.sgemm.threads = product.best_threads(device.capabilities().threads);
  bench.sgemm.flop = 2.0 * kProduct * kProduct * kProduct;

  std::vector<std::vector<double>> forward(runners.size()), step(runners.size());
  std::vector<double> baseline;
  for (int round = 0; round < rounds; ++round) {
    progress(fmt::format("round {} of {}", round + 1, rounds));
    baseline.push_back(timed([&] { product.run(bench.sgemm.threads); }, 1));
    for (std::size_t i = 0; i < runners.size(); ++i) {
      forward[i].push_back(timed([&] { runners[i]->forward(); }, repeats[i][0]));
      step[i].push_back(timed([&] { runners[i]->step(); }, repeats[i][1]));
    }
  }
  bench.sgemm.seconds = spread_of(baseline);
  for (std::size_t i = 0; i < runners.size(); ++i) {
    bench.nets[i].forward_s = spread_of(forward[i]);
    bench.nets[i].step_s = spread_of(step[i]);
  }
  return bench;
}

}  // namespace headroom
