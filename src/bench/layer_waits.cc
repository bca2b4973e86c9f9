#include "bench/layer_waits.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace headroom {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Waits for the device after every layer and takes the time since the previous wait.
class LayerClock final : public Recorder {
 public:
  LayerClock(Device& device, const Plan& plan) : stream_(device.stream()) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const Node& node = plan.graph.node(plan.steps[s].node);
      if (layers_.empty() || layers_.back() != node.layer)
        layers_.push_back(node.layer), operators_.emplace_back();
      operators_.back() += (operators_.back().empty() ? "" : "+") + node.op;
      layer_of_.push_back(layers_.size() - 1);
    }
    seconds_.resize(layers_.size());
  }

  void start() {
    stream_.synchronize();
    begin_ = SteadyClock::now();
  }
  void begin(std::size_t, Stream&) override {}
  void end(std::size_t step, Stream&) override {
    const bool last = step + 1 == layer_of_.size() || layer_of_[step + 1] != layer_of_[step];
    if (!last) return;
    stream_.synchronize();
    const auto now = SteadyClock::now();
    seconds_[layer_of_[step]] = std::chrono::duration<double>(now - begin_).count();
    begin_ = now;
  }

  // Seconds since start(): the sum, then each layer.
  std::vector<double> seconds() const {
    std::vector<double> list = {std::accumulate(seconds_.begin(), seconds_.end(), 0.0)};
    list.insert(list.end(), seconds_.begin(), seconds_.end());
    return list;
  }

  std::vector<WaitedLayer> layers(const std::vector<Spread>& spreads) const {
    std::vector<WaitedLayer> list;
    for (std::size_t i = 0; i < layers_.size(); ++i) list.push_back({layers_[i], operators_[i], spreads[i]});
    return list;
  }

 private:
  Stream& stream_;
  std::vector<std::string> layers_, operators_;
  std::vector<std::size_t> layer_of_;  // by step
  std::vector<double> seconds_;        // by layer
  SteadyClock::time_point begin_;
};

// Makes the executor launch step by step; does nothing else.
class Silent final : public Recorder {
 public:
  void begin(std::size_t, Stream&) override {}
  void end(std::size_t, Stream&) override {}
};

// A chain of steps on one number each: no computation, only launches and waits.
class EmptySteps {
 public:
  static constexpr int kCount = 64;

  explicit EmptySteps(Engine& engine)
      : device_(engine.device()), storage_(device_), arena_(device_), input_(device_.allocate(kAlignment)) {
    const DType dtype = engine.options().precision;
    Graph graph;
    const ValueId x = graph.add_value(
        {.name = "x", .type = {{1}, dtype}, .role = Role::input, .producer = kNone, .init = {}, .layer = {}});
    ValueId y = x;
    for (int i = 0; i < kCount; ++i) y = graph.add_node("relu", {y}, {}, "empty" + std::to_string(i)).at(0);
    graph.outputs = {y};
    const Plan plan = plan_operators(graph, dtype, engine.target());
    storage_.prepare(graph, 0);
    executor_ = std::make_unique<Executor>(plan, storage_, arena_);
    executor_->allow_capture(engine.options().capture && engine.queues());
    device_.zero(input_.data(), input_.bytes());
    executor_->bind(x, input_.data());
  }
  Executor& executor() { return *executor_; }

 private:
  Device& device_;
  Storage storage_;
  Arena arena_;
  Buffer input_;
  std::unique_ptr<Executor> executor_;
};

// Seconds of one of `count` equal steps.
TimedBody one_of(int count, TimedBody all) {
  return [count, all = std::move(all)](int repeats) {
    std::vector<double> seconds = all(repeats);
    for (double& s : seconds) s /= count;
    return seconds;
  };
}

}  // namespace

double LayerWaits::medians_s() const {
  double sum = 0;
  for (const WaitedLayer& layer : layers) sum += layer.seconds.median;
  return sum;
}

double LayerWaits::wait_s() const { return std::max(0.0, empty_s.median - in_row_s.median); }

LayerWaits time_layers(Engine& engine, std::int64_t batch, const void* images, const std::int32_t* labels,
                       int samples) {
  Engine::Ready& ready = engine.ready(Mode::eval, batch);
  Device& device = engine.device();
  EmptySteps empty(engine);
  Executor& row = empty.executor();
  LayerClock layers(device, ready.plan()), single(device, row.plan());
  Silent silent;
  auto run = [&](std::vector<Recorder*> recorders) { engine.run_batch(ready, images, labels, recorders); };
  Recorder* const each_alone[] = {&single};
  const TimedBody by_layer = [&](int) {
    layers.start();
    run({&layers});
    return layers.seconds();
  };
  const auto timed =
      sample_in_turn({.warm_ups = 3, .min_samples = samples, .max_samples = samples, .repeats = 1},
                     {timed_on(device, [&] { run({}); }), timed_on(device, [&] { run({&silent}); }), by_layer,
                      one_of(EmptySteps::kCount, timed_on(device, [&] { row.run(each_alone); })),
                      one_of(EmptySteps::kCount, timed_on(device, [&] { row.run(); }))});
  return {.layers = layers.layers(timed[2].parts),
          .whole_s = timed[0],
          .queued_s = timed[1],
          .sum_s = timed[2],
          .empty_s = timed[3],
          .in_row_s = timed[4]};
}

}  // namespace headroom
