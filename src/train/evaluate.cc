#include "train/evaluate.h"

#include <algorithm>
#include <chrono>

#include "base/shares.h"
#include "base/spans.h"
#include "base/text.h"
#include "profile/step_timer.h"
#include "train/run_state.h"
#include "train/watched_steps.h"

namespace headroom {
namespace {

void require_same_targets(const Net& net, const Program& program, const Split& split) {
  if (program.labels_each != split.targets_each)
    reject(Hint{fmt::format("give its last layer {0} units; models of the zoo take :classes={0}",
                            split.targets_each)},
           "model '{}' gives {} per item, but the data has {}", net.name,
           counted(program.labels_each, "number"), counted(split.targets_each, "target"));
  if (net.loss != kMultiLabel) return;
  const auto wrong = std::ranges::find_if(split.targets, [](float x) { return !(x >= 0 && x <= 1); });
  if (wrong != split.targets.end())
    reject(Hint{"1 if a label applies, else 0; for other numbers take `loss` regression"},
           "the loss multi_label takes targets from 0 to 1, and item {} has {}",
           (wrong - split.targets.begin()) / split.targets_each, *wrong);
}

}  // namespace

LoaderOptions loader_options(const Engine& engine, const Preprocess& preprocess, std::int64_t batch) {
  LoaderOptions options;
  options.batch = batch;
  options.preprocess = preprocess;
  options.input = Shape(engine.net().input);
  options.dtype = reads_tokens(engine.net()) ? DType::i32 : master_of(engine.options().precision);
  return options;
}

std::int64_t classes_of(const Program& program) {
  return program.correct == kNone ? 0 : program.graph.value(program.logits).type.shape[1];
}

void require_labels(const Engine& engine, const Program& program, const Split& split) {
  const Net& net = engine.net();
  if (learns_targets(net) && split.targets_each == 0)
    reject(Hint{"`data` npy:INPUTS.npy,TARGETS.npy, or images:DIR with a targets.csv"},
           "the loss {} needs numbers to learn, but the data has labels", net.loss);
  if (has_classes(net) && split.targets_each > 0)
    reject(Hint{"take `loss` regression or multi_label"},
           "the loss {} needs labels, but the data has targets", net.loss);
  if (learns_targets(net)) return require_same_targets(net, program, split);
  if (program.correct != kNone && program.labels_each != split.labels_each())
    reject(Hint{"use `data` text:FILE for gpt2, and images for other models"},
           "model '{}' gives {} answers per item, but the data has {} labels", engine.net().name,
           program.labels_each, split.labels_each());
}

namespace {

const SpanName kEvaluateSpan{"evaluate"}, kEvaluatedBatchSpan{"evaluate a batch"};

std::vector<std::int32_t> labels_of(const Split& split, std::int64_t first, std::int64_t count) {
  return {split.labels.begin() + first, split.labels.begin() + first + count};
}

// The last images of a network with a fixed batch: padding follows them, which does not count.
void add_padded(Engine& engine, Engine::Ready& ready, const DeviceBatch& b,
                const std::vector<std::int32_t>& labels, Tally& tally, Metrics& all) {
  const Program& program = ready.program;
  if (program.correct == kNone || engine.net().loss != kCrossEntropy)
    reject(Hint{"take a `test-size` that is a multiple of it"},
           "{} images are left, but the network has a fixed batch of {}", b.count,
           program.graph.value(program.images).type.shape[0]);
  const TensorType images = program.graph.value(program.images).type;
  const auto bytes = static_cast<std::size_t>(images.bytes());
  const auto rows = static_cast<std::size_t>(program.graph.value(program.labels).type.shape[0]);
  Device& device = engine.device();
  const Buffer padded = device.allocate(bytes), answers = device.allocate(rows * sizeof(std::int32_t));
  device.zero(padded.data(), bytes);
  device.zero(answers.data(), rows * sizeof(std::int32_t));
  device.copy(padded.data(), b.images, bytes / rows * static_cast<std::size_t>(b.count));
  engine.run_batch(ready, padded.data(), static_cast<const std::int32_t*>(answers.data()));
  std::vector<double> scores = ready.executor->read(program.logits);
  scores.resize(scores.size() / rows * labels.size());
  Metrics part(classes_of(program));
  part.add(scores, labels);
  all.add(scores, labels);
  tally.add(part.log_loss(), part.accuracy() * double(labels.size()), b.count);
}

// What a network gave for every item, for scores that need all of them.
class Predictions {
 public:
  Predictions(const Net& net, const Split& split) : net_(net), split_(split) {
    if (learns_targets(net)) values_.resize(split.targets.size());
  }
  void put(std::int64_t first, const std::vector<double>& rows) {
    std::ranges::copy(rows, values_.begin() + first * split_.targets_each);
  }
  bool wanted() const { return !values_.empty(); }

  // Ranks that share an item count it once.
  void gather(Groups& groups) {
    if (groups.distribution().model_index != 0) std::ranges::fill(values_, 0.0);
    groups.world().all_reduce(values_.data(), std::ssize(values_));
  }
  void score(EvalResult& result) const {
    if (net_.loss == kRegression)
      result.regression = regression_scores(values_, split_.targets, split_.targets_each);
    if (net_.loss == kMultiLabel) result.labels = label_scores(values_, split_.targets, split_.targets_each);
  }

 private:
  const Net& net_;
  const Split& split_;
  std::vector<double> values_;
};

// Adds up the results of all ranks, on every rank. Ranks that share an image count it once.
void add_up(Groups& groups, Tally& tally, Metrics& metrics) {
  std::vector<double> numbers = metrics.counts();
  numbers.insert(numbers.end(), {tally.loss, tally.correct, static_cast<double>(tally.images)});
  if (groups.distribution().model_index != 0) std::ranges::fill(numbers, 0.0);
  groups.world().all_reduce(numbers.data(), std::ssize(numbers));
  const std::size_t n = numbers.size();
  tally = {numbers[n - 3], numbers[n - 2], static_cast<std::int64_t>(numbers[n - 1])};
  numbers.resize(n - 3);
  metrics.set_counts(numbers);
}

}  // namespace

EvalResult evaluate(Engine& engine, const Split& split, const Preprocess& preprocess, std::int64_t batch,
                    const FeedOptions& how, std::vector<Recorder*> recorders, StepWatch* watch) {
  using Clock = std::chrono::steady_clock;
  EvalResult result;
  if (split.count() == 0) return result;
  const Span span(kEvaluateSpan, SpanKind::evaluation);
  const std::int64_t fixed = fixed_batch(engine.net());
  batch = std::min(fixed > 0 ? fixed : batch, split.count());
  // Ranks share the images, except for networks with a fixed batch.
  const Distribution ranks = engine.ranks();
  const int parts = fixed > 0 ? 1 : ranks.data_parts;
  Engine::Ready& full = engine.ready(
      Mode::eval, std::max<std::int64_t>(1, share_of(batch, parts, parts > 1 ? ranks.data_index : 0).count));
  const std::int64_t classes = classes_of(full.program);
  require_labels(engine, full.program, split);
  if (const int most = split.labels.empty() ? 0 : *std::max_element(split.labels.begin(), split.labels.end());
      classes && most >= classes)
    reject("model '{}' has {} classes, but an image is labelled {}", engine.net().name, classes, most);
  const auto start = Clock::now();
  // Each image is used once, so keeping it on the device gains nothing.
  FeedOptions streamed = how;
  streamed.resident = false;
  LoaderOptions loading = loader_options(engine, preprocess, batch);
  loading.parts = parts, loading.part = parts > 1 ? ranks.data_index : 0;
  const auto feed = make_feed(engine.device(), split, loading, streamed);
  StepTimer timer(engine.device(), full.plan().steps.size(), 512);
  recorders.push_back(&timer);
  // A confusion matrix over all tokens is of no use.
  const bool counted = classes > 0 && split.text.empty();
  if (counted) result.metrics = Metrics(classes);
  Predictions predictions(engine.net(), split);
  Tally tally;
  WatchedSteps watched(watch);
  const auto idle = [&] { engine.device().stream().synchronize(); };
  std::int64_t first = 0;  // in file order
  while (const DeviceBatch* b = feed->next()) {
    if (fixed > 0 && b->count < fixed) {
      add_padded(engine, full, *b, labels_of(split, first, b->count), tally, result.metrics);
      break;
    }
    const std::int64_t own = first + b->first;
    first += b->global;
    if (b->count == 0) continue;
    const Span batch_span(kEvaluatedBatchSpan, SpanKind::batch);
    Engine::Ready& ready = b->global == batch ? full : engine.ready(Mode::eval, b->count);
    const bool whole = &ready == &full;
    watched.before(whole, idle);
    engine.run_batch(ready, b->images, b->labels,
                     !whole               ? Recorders()
                     : watched.attached() ? watched.recorders()
                                          : Recorders(recorders));
    tally.add(ready.executor->read_scalar(ready.program.loss), engine.correct(ready), b->count);
    if (counted)
      result.metrics.add(ready.executor->read(ready.program.logits), labels_of(split, own, b->count));
    if (predictions.wanted()) predictions.put(own, ready.executor->read(ready.program.logits));
    watched.after(whole, idle);
  }
  watched.finish(idle);
  if (parts > 1) add_up(*engine.groups(), tally, result.metrics);
  if (parts > 1 && predictions.wanted()) predictions.gather(*engine.groups());
  predictions.score(result);
  const auto images = static_cast<double>(tally.images);
  result.accuracy = tally.correct / images;
  result.loss = tally.loss / images;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.images = tally.images;
  result.measurement = timer.measurement();
  return result;
}

}  // namespace headroom
