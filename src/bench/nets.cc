#include "bench/nets.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "bench/product.h"
#include "bench/random_batch.h"
#include "models/zoo.h"
#include "ops/operator.h"

namespace headroom {
namespace {

Choice reference_only(const Problem& problem, const Target&) {
  return {&operator_of(problem.op).kernels.back(), "the reference", {}};
}

// One network with random images on the device: one batch, or a whole epoch.
class Runner {
 public:
  Runner(const NetWorkload& w, Device& device, EngineOptions options)
      : workload_(w), engine_(find_net(w.model), device, as_published(std::move(options), w.model)) {
    const Program& eval = engine_.ready(Mode::eval, w.batch).program;
    data_.emplace(device, eval, std::max(w.batch, w.epoch_images));
    engine_.ready(Mode::train, w.batch);
    engine_.set_learning_rate(1e-4);
  }

  void forward() {
    Engine::Ready& eval = engine_.ready(Mode::eval, workload_.batch);
    engine_.run_batch(eval, data_->image(0), data_->label(0));
  }
  void step() { step_from(0, workload_.batch); }
  // As a training does: several steps in one launch, where that pays.
  void epoch() {
    Engine::Ready& train = engine_.ready(Mode::train, workload_.batch);
    const std::size_t together = engine_.joins_steps(train) ? Engine::kStepsTogether : 1;
    const auto queue = [&] {
      if (!steps_.empty()) engine_.queue_steps(train, steps_);
      steps_.clear();
    };
    for (std::int64_t first = 0; first < workload_.epoch_images; first += workload_.batch) {
      const std::int64_t count = std::min(workload_.batch, workload_.epoch_images - first);
      if (together > 1 && count == workload_.batch) {
        steps_.push_back({data_->image(first), data_->label(first)});
        if (steps_.size() == together) queue();
      } else {
        queue();
        step_from(first, count);
      }
    }
    queue();
  }
  std::vector<double> logits() {
    forward();
    Engine::Ready& eval = engine_.ready(Mode::eval, workload_.batch);
    return eval.executor->read(eval.program.logits);
  }

  const Plan& plan(Mode mode) { return engine_.ready(mode, workload_.batch).plan(); }
  double flop(Mode mode) {
    double total = 0;
    for (const Step& step : plan(mode).steps) total += step.cost.multiply_add;
    return total;
  }
  std::int64_t parameters() const { return engine_.parameter_count(); }

 private:
  // The perceptron of the course uses plain gradient descent with L2, the others momentum.
  static EngineOptions as_published(EngineOptions options, const std::string& model) {
    options.seed = 1;
    const bool perceptron = model.starts_with("mlp");
    options.update.momentum = perceptron ? 0 : 0.9;
    options.update.l2 = perceptron ? 1e-4 : 0;
    return options;
  }

  void step_from(std::int64_t first, std::int64_t count) {
    Engine::Ready& train = engine_.ready(Mode::train, count);
    if (engine_.queues())
      engine_.queue_step(train, data_->image(first), data_->label(first), 1);
    else
      engine_.train_step(train, data_->image(first), data_->label(first), 1);
  }

  NetWorkload workload_;
  Engine engine_;
  std::optional<RandomBatch> data_;
  std::vector<Engine::StepInput> steps_;
};

// Compares with the reference kernels, which run on the CPU.
void require_right(const NetWorkload& w, Device& device, const EngineOptions& options) {
  const NetWorkload small{w.model, std::min<std::int64_t>(w.batch, 32)};
  EngineOptions plain;
  plain.precision = master_of(options.precision);
  plain.choose = reference_only;
  const auto cpu = open_device("cpu");
  const auto got = Runner(small, device, options).logits(), want = Runner(small, *cpu, plain).logits();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  const bool short_factors = options.tf32 || is_16bit(options.precision);
  const double allowed = short_factors ? 20 * unit_roundoff(options.tf32 ? DType::f16 : options.precision)
                                       : 1e3 * unit_roundoff(options.precision);
  if (!(std::sqrt(error / size) < allowed))
    fail("{}: the chosen kernels are off the reference by {:.2g}; not timed", w.model,
         std::sqrt(error / size));
}

}  // namespace

std::vector<NetWorkload> net_workloads(DeviceKind device) {
  constexpr std::int64_t kMnist = 60'000;
  const std::int64_t epoch = device == DeviceKind::cpu ? 0 : kMnist;
  return {{"mlp:hidden=512", 3000, epoch},
          {"mlp:hidden=64", 3200, epoch},
          {"mlp:hidden=100", 800, epoch},
          {"lenet5", 256},
          {"ece408", device == DeviceKind::cpu ? 100 : 10'000}};
}

NetBench bench_nets(Device& device, const Machine& machine, const EngineOptions& options,
                    const std::vector<NetWorkload>& workloads, int rounds,
                    const std::function<void(const std::string&)>& progress) {
  NetBench bench;
  std::vector<std::unique_ptr<Runner>> runners;
  const std::unique_ptr<Product> product = make_product(device, options);
  bench.product = {
      .size = product->size(), .seconds = {}, .threads = product->threads(), .flop = product->flop()};
  std::vector<TimedBody> bodies = {timed_on(device, [&] { product->run(); })};
  for (const NetWorkload& w : workloads) {
    progress(fmt::format("{}: checking against the reference", w.model));
    require_right(w, device, options);
    runners.push_back(std::make_unique<Runner>(w, device, options));
    Runner& r = *runners.back();
    bodies.push_back(timed_on(device, [&r] { r.forward(); }));
    bodies.push_back(timed_on(device, [&r] { r.step(); }));
    if (w.epoch_images > 0) bodies.push_back(timed_on(device, [&r] { r.epoch(); }));
    bench.nets.push_back({.workload = w,
                          .forward_s = {},
                          .step_s = {},
                          .epoch_s = {},
                          .forward_flop = r.flop(Mode::eval),
                          .step_flop = r.flop(Mode::train),
                          .parameters = r.parameters(),
                          .predicted_forward = predicted_run(r.plan(Mode::eval), machine),
                          .predicted_step = predicted_run(r.plan(Mode::train), machine)});
  }
  const std::vector<Sampled> timed =
      sample_in_turn({.warm_ups = 3,
                      .min_samples = rounds,
                      .max_samples = rounds,
                      .min_sample_seconds = 0.05,
                      .progress = [&](int round) { progress(fmt::format("round {} of {}", round, rounds)); }},
                     bodies);
  auto next = timed.begin();
  bench.product.seconds = *next++;
  for (NetTiming& net : bench.nets) {
    net.forward_s = *next++, net.step_s = *next++;
    if (net.workload.epoch_images > 0) net.epoch_s = *next++;
  }
  return bench;
}

}  // namespace headroom
