#include "bench/layer_waits.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Waits for the device behind every layer and takes the time since the wait before.
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
    for (auto& list : seconds_) list.reserve(kUsualSamples);  // no allocation within what is timed
  }

  double sum() const { return sum_; }  // of the pass since start()

  void start() {
    sum_ = 0;
    stream_.synchronize();
    begin_ = Clock::now();
  }
  void begin(std::size_t) override {}
  void end(std::size_t step) override {
    const bool last = step + 1 == layer_of_.size() || layer_of_[step + 1] != layer_of_[step];
    if (!last) return;
    stream_.synchronize();
    const auto now = Clock::now();
    const double took = std::chrono::duration<double>(now - begin_).count();
    seconds_[layer_of_[step]].push_back(took);
    sum_ += took;
    begin_ = now;
  }

  std::vector<WaitedLayer> layers() const {
    std::vector<WaitedLayer> list;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      list.push_back({layers_[i], operators_[i], spread_of(seconds_[i])});
    return list;
  }

 private:
  static constexpr std::size_t kUsualSamples = 256;
  Stream& stream_;
  std::vector<std::string> layers_, operators_;
  std::vector<std::size_t> layer_of_;  // by step
  std::vector<std::vector<double>> seconds_;
  Clock::time_point begin_;
  double sum_ = 0;
};

// Tells the executor to launch step by step, and does nothing else.
class Silent final : public Recorder {
 public:
  void begin(std::size_t) override {}
  void end(std::size_t) override {}
};

// A chain of steps on one number each: nothing to compute, everything to start and to wait for.
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
    const Plan plan = make_plan(graph, {Mode::eval, 1, dtype, engine.capabilities()});
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

// One pass from an idle device to an idle device.
double pass(Device& device, const std::function<void()>& run) {
  device.stream().synchronize();
  const auto start = Clock::now();
  run();
  device.stream().synchronize();
  return seconds_since(start);
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
  std::vector<double> whole, queued, sum, alone, in_row;
  constexpr int kWarm = 3;  // first launches load code and are captured
  for (int i = -kWarm; i < samples; ++i) {
    LayerClock unused(device, ready.plan()), unused_single(device, row.plan());
    LayerClock &clock = i < 0 ? unused : layers, &small = i < 0 ? unused_single : single;
    auto run = [&](Recorder* recorder) { engine.run_batch(ready, images, labels, recorder); };
    const double at_once = pass(device, [&] { run(nullptr); });
    const double by_step = pass(device, [&] { run(&silent); });
    clock.start();
    run(&clock);
    const double together = pass(device, [&] { row.run(); });
    const double apart = pass(device, [&] { row.run(&small); });
    if (i < 0) continue;
    whole.push_back(at_once), queued.push_back(by_step), sum.push_back(clock.sum());
    in_row.push_back(together / EmptySteps::kCount), alone.push_back(apart / EmptySteps::kCount);
  }
  return {.layers = layers.layers(),
          .whole_s = spread_of(whole),
          .queued_s = spread_of(queued),
          .sum_s = spread_of(sum),
          .empty_s = spread_of(alone),
          .in_row_s = spread_of(in_row)};
}

}  // namespace headroom
