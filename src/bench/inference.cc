#include "bench/inference.h"

#include "bench/sampler.h"
#include "machine/timing.h"
#include "profile/step_timer.h"

namespace headroom {

Measurement measure_again(Device& device, Inference& inference) {
  constexpr std::size_t kRuns = 20;
  StepTimer timer(device, inference.plan()->steps.size(), kRuns);
  Recorder* const recorders[] = {&timer};
  for (std::size_t i = 0; i < kRuns; ++i) inference.repeat(recorders);
  Measurement measurement = timer.measurement();
  measurement.run_s = sample(device, {.max_samples = 50, .max_seconds = 1}, [&] { inference.repeat(); }).kept;
  return measurement;
}

EvalResult forward_over(Engine& engine, Engine::Ready& ready, const Split& split,
                        const Preprocess& preprocess) {
  const Program& program = ready.program;
  const std::int64_t batch = program.graph.value(program.images).type.shape[0];
  FeedOptions streamed;
  streamed.resident = false;
  const auto feed = make_feed(engine.device(), split, loader_options(engine, preprocess, batch), streamed);
  StepTimer timer(engine.device(), ready.plan().steps.size(), 512);
  Recorder* const recorders[] = {&timer};
  EvalResult result;
  const double begin = now_s();
  while (const DeviceBatch* b = feed->next()) {
    if (b->count < batch && result.images > 0) break;  // its end would be images of the batch before
    ready.executor->bind(program.images, b->images);
    ready.executor->run(recorders);
    result.images += b->count;
  }
  engine.device().stream().synchronize();
  result.seconds = now_s() - begin;
  result.measurement = timer.measurement();
  return result;
}

}  // namespace headroom
