#include "bench/deterministic_overhead.h"

#include <algorithm>

#include "base/random.h"
#include "train/evaluate.h"

namespace headroom {
namespace {

// A batch of normal numbers or random tokens; every label is 0.
struct StepInput {
  StepInput(Engine& engine, std::int64_t batch) {
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

// Training steps on one batch that stays on the device.
TimedBody steps_of(Engine& engine, const StepInput& data, std::int64_t batch) {
  Engine::Ready& ready = engine.ready(Mode::train, batch);
  engine.set_learning_rate(1e-6);
  return timed_on(engine.device(), [&engine, &data, &ready, number = std::int64_t{0}]() mutable {
    const auto* labels = static_cast<const std::int32_t*>(data.labels.data());
    if (engine.queues())
      engine.queue_step(ready, data.images.data(), labels, ++number);
    else
      engine.train_step(ready, data.images.data(), labels, ++number);
  });
}

}  // namespace

DeterministicOverhead deterministic_overhead(const Net& net, Device& device, EngineOptions options,
                                             std::int64_t batch) {
  options.deterministic = false;
  Engine plain(net, device, options);
  options.deterministic = true;
  Engine strict(net, device, options);
  const StepInput of_plain(plain, batch), of_strict(strict, batch);
  const auto timed = sample_in_turn({.warm_ups = 3, .min_samples = 5, .max_samples = 5, .repeats = 10},
                                    {steps_of(plain, of_plain, batch), steps_of(strict, of_strict, batch)});
  return {timed[0], timed[1]};
}

}  // namespace headroom
