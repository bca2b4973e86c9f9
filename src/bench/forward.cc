#include "bench/forward.h"

#include "bench/random_batch.h"

namespace headroom {
namespace {

SamplerOptions sampling(const ForwardRequest& request) {
  return {.warm_ups = 2, .min_samples = 3, .max_samples = 2000, .max_seconds = request.seconds};
}

Sampled time_steps(Engine& engine, Device& device, const ForwardRequest& request) {
  Engine::Ready& train = engine.ready(Mode::train, request.batch);
  const RandomBatch data(device, train.program, request.batch);
  engine.set_learning_rate(1e-6);  // random labels: nothing to learn, and the loss cannot diverge
  std::int64_t step = 0;
  return sample(device, sampling(request), [&] {
    engine.queues() ? engine.queue_step(train, data.image(0), data.label(0), ++step)
                    : void(engine.train_step(train, data.image(0), data.label(0), ++step));
  });
}

}  // namespace

ForwardTiming bench_forward(Device& device, const Machine& machine, const EngineOptions& options,
                            const Net& net, const ForwardRequest& wanted) {
  ForwardRequest request = wanted;
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0) request.batch = fixed;  // set by some files
  require_random_batch(net);
  Engine engine(net, device, options);
  ForwardTiming timing{net.name, request.batch, engine.parameter_count(), 0, {}, {}, {}, {}};
  Arena arena(device);
  Engine::Ready ready =
      engine.make_ready(build_request(options, engine.target(), Mode::infer, request.batch), arena);
  const Program& program = ready.program;
  for (const Step& step : ready.plan().steps) timing.flop += step.cost.multiply_add;
  const RandomBatch data(device, program, request.batch);
  ready.executor->bind(program.images, data.image(0));
  timing.forward_s = sample(device, sampling(request), [&] { ready.executor->run(); });
  timing.predicted_forward = predicted_run(ready.plan(), machine, RunsAre::waited_for);
  if (request.steps) {
    timing.step_s = time_steps(engine, device, request);
    timing.predicted_step =
        predicted_run(engine.ready(Mode::train, request.batch).plan(), machine, RunsAre::waited_for);
  }
  return timing;
}

}  // namespace headroom
