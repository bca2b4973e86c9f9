#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "profile/step_timer.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

LoaderOptions loader_options(const Engine& engine, const Preprocess& preprocess, std::int64_t batch) {
  LoaderOptions options;
  options.batch = batch;
  options.preprocess = preprocess;
  options.input = Shape(engine.net().input);
  options.dtype = engine.options().precision;
  return options;
}

std::int64_t classes_of(const Program& program) { return program.graph.value(program.logits).type.shape[1]; }

// The sums an epoch is reported by.
struct Tally {
  double loss = 0, correct = 0;
  std::int64_t images = 0;
  void add(double batch_loss, double batch_correct, std::int64_t count) {
    loss += batch_loss * static_cast<double>(count);
    correct += batch_correct;
    images += count;
  }
};

}  // namespace

void require_trainable(Engine& engine, const Dataset& data, std::int64_t batch) {
  const std::int64_t units = classes_of(engine.ready(Mode::train, batch).program);
  if (units != data.classes)
    reject(
        Hint{fmt::format("give its last layer {0} units; models of the zoo take :classes={0}", data.classes)},
        "model '{}' tells {} classes apart, data set '{}' has {}", engine.net().name, units, data.name,
        data.classes);
  if (engine.parameter_count() == 0)
    reject("model '{}' has nothing to learn: no layer of it has weights", engine.net().name);
  require_fit(data.train.image, Shape(engine.net().input));
  if (batch > data.train.count())
    reject(Hint{fmt::format("take a --batch of at most {}", with_commas(data.train.count()))},
           "a batch of {} is larger than the set of {} training images", with_commas(batch),
           with_commas(data.train.count()));
}

EvalResult evaluate(Engine& engine, const Split& split, const Preprocess& preprocess, std::int64_t batch) {
  EvalResult result;
  if (split.count() == 0) return result;
  const std::int64_t classes = classes_of(engine.ready(Mode::eval, std::min(batch, split.count())).program);
  if (const int most = *std::max_element(split.labels.begin(), split.labels.end()); most >= classes)
    reject("model '{}' tells {} classes apart, but an image is labelled {}", engine.net().name, classes,
           most);
  const auto start = Clock::now();
  Loader loader(split, loader_options(engine, preprocess, std::min(batch, split.count())));
  Tally tally;
  while (const Batch* b = loader.next()) {
    Engine::Ready& ready = engine.ready(Mode::eval, b->count);
    ready.executor->bind(ready.program.images, b->images);
    ready.executor->bind(ready.program.labels, b->labels);
    ready.executor->run();
    tally.add(ready.executor->read_scalar(ready.program.loss),
              ready.executor->read_scalar(ready.program.correct), b->count);
  }
  const auto images = static_cast<double>(tally.images);
  return {tally.correct / images, tally.loss / images, since(start), tally.images};
}

TrainResult train(Engine& engine, const Dataset& data, const TrainOptions& options, TrainObserver& observer) {
  require_trainable(engine, data, options.batch);
  LoaderOptions loading = loader_options(engine, options.preprocess, options.batch);
  loading.epochs = options.epochs;
  loading.shuffle = options.shuffle;
  loading.seed = options.seed;
  loading.augment = options.augment;
  loading.threads = options.loader_threads;
  Loader loader(data.train, loading);

  Engine::Ready& full = engine.ready(Mode::train, options.batch);
  engine.set_learning_rate(options.lr);
  StepTimer timer(full.plan().steps.size(), options.timed_steps);
  const std::int64_t total = options.epochs * loader.batches_per_epoch();
  // First touches of memory and thread start-up are not the step's cost; a run of a few steps has nothing
  // else to show.
  const std::int64_t warm_up = total > 2 ? 2 : 0;

  TrainResult result;
  constexpr std::int64_t kMostReserved = 1 << 20;  // beyond, a push_back that allocates no longer matters
  result.step_seconds.reserve(static_cast<std::size_t>(std::min(total, kMostReserved)));
  Tally tally;
  auto epoch_start = Clock::now();
  while (const Batch* b = loader.next()) {
    const bool whole = b->count == options.batch;
    Engine::Ready& ready = whole ? full : engine.ready(Mode::train, b->count);
    const auto start = Clock::now();
    const bool timed = whole && result.steps >= warm_up;
    const double loss =
        engine.train_step(ready, b->images, b->labels, result.steps + 1, timed ? &timer : nullptr);
    if (timed) result.step_seconds.push_back(since(start));
    if (result.steps == 0) result.first_loss = loss;
    result.last_loss = loss;
    tally.add(loss, ready.executor->read_scalar(ready.program.correct), b->count);
    observer.on_step(++result.steps, total, loss);
    if (!b->last_of_epoch) continue;

    const auto images = static_cast<double>(tally.images);
    EpochResult epoch{b->epoch + 1, tally.loss / images, tally.correct / images, 0, since(epoch_start)};
    result.train_seconds += epoch.seconds;
    result.images += tally.images;
    const EvalResult eval = evaluate(engine, data.test, options.preprocess, options.batch);
    result.eval_seconds += eval.seconds;
    epoch.test_accuracy = eval.accuracy;
    result.epochs.push_back(epoch);
    observer.on_epoch(epoch);
    result.target_reached = options.target > 0 && epoch.test_accuracy >= options.target;
    if (result.target_reached) break;
    tally = {};
    epoch_start = Clock::now();
  }
  for (std::size_t s = 0; s < timer.steps(); ++s) result.plan_steps.push_back(spread_of(timer.samples(s)));
  return result;
}

}  // namespace headroom
