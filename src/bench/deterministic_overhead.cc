#include "bench/deterministic_overhead.h"

#include <algorithm>
#include <chrono>

#include "base/random.h"
#include "train/evaluate.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

// A batch of normal numbers, and labels from 0.
struct RandomBatch {
  RandomBatch(Engine& engine, std::int64_t batch) {
    const Program& program = engine.ready(Mode::train, batch).program;
    const TensorType& type = program.graph.value(program.images).type;
    images = engine.device().allocate(static_cast<std::size_t>(type.bytes()));
    if (type.dtype == DType::i32) {
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(type.shape.numel()));
      const auto kinds = static_cast<std::uint64_t>(std::max<std::int64_t>(1, classes_of(program)));
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = std::int32_t(Philox(3).below(i, kinds));
      engine.device().upload(images.data(), tokens.data(), tokens.size() * sizeof(std::int32_t));
    } else
      dispatch_float(type.dtype, [&]<class T>() {
        std::vector<T> values(static_cast<std::size_t>(type.shape.numel()));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(Philox(3).normal(i));
        engine.device().upload(images.data(), values.data(), values.size() * sizeof(T));
      });
    const std::vector<std::int32_t> zeros(static_cast<std::size_t>(batch * program.labels_each), 0);
    labels = engine.device().allocate(zeros.size() * sizeof(std::int32_t));
    engine.device().upload(labels.data(), zeros.data(), zeros.size() * sizeof(std::int32_t));
  }
  Buffer images, labels;
};

}  // namespace

Spread step_seconds(Engine& engine, std::int64_t batch, int samples) {
  constexpr int kWarm = 3, kSteps = 10;
  const RandomBatch data(engine, batch);
  Engine::Ready& ready = engine.ready(Mode::train, batch);
  engine.set_learning_rate(1e-6);
  std::int64_t number = 0;
  auto step = [&] {
    const auto* labels = static_cast<const std::int32_t*>(data.labels.data());
    if (engine.queues())
      engine.queue_step(ready, data.images.data(), labels, ++number);
    else
      engine.train_step(ready, data.images.data(), labels, ++number);
  };
  for (int i = 0; i < kWarm; ++i) step();
  std::vector<double> seconds;
  for (int sample = 0; sample < samples; ++sample) {
    engine.device().stream().synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < kSteps; ++i) step();
    engine.device().stream().synchronize();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count() / kSteps);
  }
  return spread_of(seconds);
}

DeterministicOverhead deterministic_overhead(const Net& net, Device& device, EngineOptions options,
                                             std::int64_t batch) {
  options.deterministic = false;
  Engine plain(net, device, options);
  options.deterministic = true;
  Engine strict(net, device, options);
  return {step_seconds(plain, batch), step_seconds(strict, batch)};
}

}  // namespace headroom
