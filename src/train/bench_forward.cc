#include "train/bench_forward.h"

#include <chrono>

#include "base/random.h"
#include "train/random_batch.h"

namespace headroom {
namespace {

constexpr int kWarmUps = 2, kFewest = 3, kMost = 2000;

template <class Run>
Spread timed(Device& device, double seconds, Run&& run) {
  using Clock = std::chrono::steady_clock;
  auto once = [&] {
    const auto start = Clock::now();
    run();
    device.stream().synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int i = 0; i < kWarmUps; ++i) once();
  std::vector<double> samples;
  for (double total = 0; int(samples.size()) < kFewest || (total < seconds && int(samples.size()) < kMost);) {
    samples.push_back(once());
    total += samples.back();
  }
  return spread_of(std::move(samples));
}

// In the type that the network's input has.
Buffer images_on(Device& device, const TensorType& type) {
  const auto count = static_cast<std::size_t>(type.shape.numel());
  Buffer buffer = device.allocate(static_cast<std::size_t>(type.bytes()));
  dispatch_float(type.dtype, [&]<class T>() {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(Philox(1).normal(i));
    device.upload(buffer.data(), values.data(), count * sizeof(T));
  });
  return buffer;
}

Spread time_steps(Engine& engine, Device& device, const ForwardRequest& request, const Buffer& images) {
  Engine::Ready& train = engine.ready(Mode::train, request.batch);
  const auto count = static_cast<std::size_t>(request.batch);
  const std::int64_t classes =
      train.program.graph.value(train.program.logits).type.shape.without_first().numel();
  std::vector<std::int32_t> drawn(count);
  for (std::size_t i = 0; i < count; ++i)
    drawn[i] = static_cast<std::int32_t>(Philox(2).below(i, static_cast<std::uint64_t>(classes)));
  const Buffer labels = device.allocate(count * sizeof(std::int32_t));
  device.upload(labels.data(), drawn.data(), count * sizeof(std::int32_t));
  engine.set_learning_rate(1e-6);  // random labels: nothing to learn, and nothing to run away
  std::int64_t step = 0;
  return timed(device, request.seconds, [&] {
    const auto* at = static_cast<const std::int32_t*>(labels.data());
    engine.queues() ? engine.queue_step(train, images.data(), at, ++step)
                    : void(engine.train_step(train, images.data(), at, ++step));
  });
}

}  // namespace

ForwardTiming bench_forward(Device& device, const EngineOptions& options, const Net& net,
                            const ForwardRequest& wanted) {
  ForwardRequest request = wanted;
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0)
    request.batch = fixed;  // of a file that says so
  Engine engine(net, device, options);
  const bool cpu = device.kind() == DeviceKind::cpu;
  const Program program =
      make_forward(net, request.batch, options.precision, cpu ? Fusion::blocks : Fusion::plain);
  engine.storage().prepare(program.graph, options.seed);
  const Plan plan = make_plan(
      program.graph, {Mode::eval, request.batch, options.precision, engine.capabilities()}, options.choose);
  ForwardTiming timing{net.name, request.batch, engine.parameter_count(), 0, {}, {}};
  for (const Step& step : plan.steps) timing.flop += step.cost.multiply_add;
  require_images(net.name, program.graph.value(program.images).type);
  const Buffer images = images_on(device, program.graph.value(program.images).type);
  {
    Arena arena(device);
    Executor executor(plan, engine.storage(), arena);
    executor.allow_capture(options.capture && !cpu);
    executor.bind(program.images, images.data());
    timing.forward_s = timed(device, request.seconds, [&] { executor.run(); });
  }
  if (request.steps) timing.step_s = time_steps(engine, device, request, images);
  return timing;
}

}  // namespace headroom
