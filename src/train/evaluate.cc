#include "train/evaluate.h"

#include <algorithm>
#include <chrono>

#include "profile/step_timer.h"
#include "train/run_state.h"

namespace headroom {

LoaderOptions loader_options(const Engine& engine, const Preprocess& preprocess, std::int64_t batch) {
  LoaderOptions options;
  options.batch = batch;
  options.preprocess = preprocess;
  options.input = Shape(engine.net().input);
  options.dtype = engine.options().precision;
  return options;
}

std::int64_t classes_of(const Program& program) {
  return program.correct == kNone ? 0 : program.graph.value(program.logits).type.shape[1];
}

EvalResult evaluate(Engine& engine, const Split& split, const Preprocess& preprocess, std::int64_t batch) {
  using Clock = std::chrono::steady_clock;
  EvalResult result;
  if (split.count() == 0) return result;
  batch = std::min(batch, split.count());
  Engine::Ready& full = engine.ready(Mode::eval, batch);
  const std::int64_t classes = classes_of(full.program);
  if (const int most = *std::max_element(split.labels.begin(), split.labels.end());
      classes && most >= classes)
    reject("model '{}' tells {} classes apart, but an image is labelled {}", engine.net().name, classes,
           most);
  const auto start = Clock::now();
  Loader loader(split, loader_options(engine, preprocess, batch));
  StepTimer timer(full.plan().steps.size(), 512);
  result.metrics = Metrics(classes);
  Tally tally;
  while (const Batch* b = loader.next()) {
    Engine::Ready& ready = b->count == batch ? full : engine.ready(Mode::eval, b->count);
    engine.run_batch(ready, b->images, b->labels, &ready == &full ? &timer : nullptr);
    tally.add(ready.executor->read_scalar(ready.program.loss), engine.correct(ready), b->count);
    if (classes > 0)
      result.metrics.add(ready.executor->read(ready.program.logits),
                         {b->labels, static_cast<std::size_t>(b->count)});
  }
  const auto images = static_cast<double>(tally.images);
  result.accuracy = tally.correct / images;
  result.loss = tally.loss / images;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.images = tally.images;
  for (std::size_t s = 0; s < timer.steps(); ++s) result.plan_steps.push_back(spread_of(timer.samples(s)));
  return result;
}

}  // namespace headroom
