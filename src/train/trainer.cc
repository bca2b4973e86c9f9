#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/shares.h"
#include "base/spans.h"
#include "profile/step_timer.h"
#include "train/watched_steps.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

const SpanName kTrainSpan{"train"}, kGpuTrainSpan{"GPU parallel train"}, kBatchSpan{"batch iteration"},
    kSaveSpan{"save a checkpoint"}, kSettleSpan{"wait for the device"};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The place of a batch's part. Only dropout asks where it begins, so that other networks need no plan for
// each.
BatchPlace part_of_batch(const Engine& engine, std::int64_t batch, std::int64_t first, bool last) {
  const Net& net = engine.net();
  const bool asks = net.imported || std::ranges::any_of(net.layers, [](const Layer& layer) {
                      return layer.type == "dropout";
                    });
  return {batch, asks ? first : 0, last ? Accumulate::apply : Accumulate::collect};
}

class Training {
 public:
  Training(Engine& engine, const Dataset& data, const TrainOptions& options, TrainObserver& observer)
      : engine_(engine),
        data_(data),
        options_(options),
        observer_(observer),
        full_(ready_to_train(engine, options.batch, options.accumulate)),
        feed_(make_feed(engine.device(), data.train, training_loader(engine, options), feed_options())),
        timer_(engine.device(), full_.plan().steps.size(), options.timed_steps),
        total_(options.epochs * feed_->batches_per_epoch()),
        schedule_(make_schedule(options.schedule, options.lr, options.warmup, options.epochs,
                                feed_->batches_per_epoch())),
        state_(options.start),
        watched_(options.watch) {
    constexpr std::int64_t kMaxReserved = 1 << 20;  // beyond this, an allocating push_back no longer matters
    result_.step_seconds.reserve(static_cast<std::size_t>(std::min(total_, kMaxReserved)));
    if (engine_.groups() != nullptr) result_.waited_seconds.reserve(result_.step_seconds.capacity());
    // The first steps also pay for first touches of memory and thread start-up, so they do not count. A run
    // of a few steps has no others.
    const std::int64_t left = total_ - state_.steps;
    first_timed_ = state_.steps + (left > 2 ? 2 : 0);
    result_.feed = feed_->how();
    together_.reserve(Engine::kStepsTogether);
    joins_ = may_join() && feed_->keeps_batches();
    recorders_ = options_.recorders;
    recorders_.push_back(&timer_);
    if (engine_.queues() && engine_.options().capture)
      engine_.take_tally();  // resets it, whatever ran before
  }

  // A loss that is not finite ends the run without saving; checkpoints from before stay.
  TrainResult run() {
    const bool parallel = engine_.groups() != nullptr && engine_.queues();
    const Span span(parallel ? kGpuTrainSpan : kTrainSpan, SpanKind::training);
    try {
      run_all();
    } catch (const LossNotFinite& error) {
      finish();
      result_.diverged = error.what();
      throw Diverged(error, std::move(result_));
    }
    finish();
    if (!result_.stopped) result_.diverged = divergence_of(result_.state, guessing_loss());
    return std::move(result_);
  }

 private:
  void run_all() {
    std::int64_t saved = state_.steps;
    auto save = [&] {
      if (!options_.save || saved == state_.steps) return;
      const Span span(kSaveSpan, SpanKind::saving);
      engine_.average_statistics();
      options_.save(state_), saved = state_.steps;
    };
    epoch_start_ = stretch_start_ = Clock::now();
    while (!result_.target_reached && !result_.stopped) {
      const DeviceBatch* batch = next_step();
      if (batch == nullptr) break;
      const bool due = options_.save_every > 0 && state_.steps % options_.save_every == 0;
      const bool tested =
          options_.eval_every > 0 && state_.steps % options_.eval_every == 0 && !batch->last_of_epoch;
      if (engine_.groups() == nullptr) result_.stopped = options_.stop && options_.stop();
      // A step unlike the others ends its stretch, so that the next steps can be timed. Not with several
      // ranks: they settle at the same steps, and such a step on one rank may be ordinary on another.
      const bool unlike = !plain_ && engine_.groups() == nullptr;
      if (batch->last_of_epoch || due || tested || result_.stopped || unlike || settles_now()) settle();
      if (batch->last_of_epoch) {
        watched_.before(false, [&] { settle(); });
        end_epoch();
      }
      if (tested && !result_.stopped) test_within_epoch();
      if (due) save();
    }
    settle();
    watched_.finish([] {});
    if (state_.batch > 0) result_.train_seconds += since(epoch_start_);  // stopped within an epoch
    save();
  }

  bool next_is_whole() const {
    return state_.batch + 1 < feed_->batches_per_epoch() || data_.train.count() % options_.batch == 0;
  }

  // The batch of the step that was run or queued; null after the last.
  const DeviceBatch* next_step() {
    watched_.before(next_is_whole(), [&] { settle(); });
    const Span span(kBatchSpan, SpanKind::batch);
    const DeviceBatch* batch = feed_->next();
    if (batch == nullptr) return nullptr;
    const bool whole = batch->global == options_.batch;
    const std::size_t captures = full_.executor->captures();
    step(*batch);
    if (full_.executor->captures() != captures) watched_.not_warm_yet();
    watched_.after(whole, [&] { settle(); });
    return batch;
  }

  void finish() {
    result_.measurement = timer_.measurement();
    result_.measurement.run_s = result_.step_seconds;
    result_.state = std::move(state_);
  }

  // Of equal scores for all classes; of a network without classes, its first loss.
  double guessing_loss() const {
    const bool entropy = engine_.net().loss == kCrossEntropy && data_.classes > 1;
    return entropy ? std::log(double(data_.classes)) : result_.state.first_loss;
  }

  // True if steps are queued and their losses read later. Without capture the host waits for every step, so
  // that a loss that is not finite stops the run before it spoils the weights, and can be traced to a layer.
  // The parts of a batch are waited for too: their losses add up to that of the batch.
  bool queued() const { return engine_.queues() && engine_.options().capture && options_.accumulate == 1; }

  // True if several steps can be queued as one launch, from batches that stay where they are meanwhile.
  bool may_join() const { return queued() && engine_.joins_steps(full_); }
  FeedOptions feed_options() const {
    static_assert(Engine::kStepsTogether <= Feed::kKeptBatches);
    FeedOptions feed = options_.feed;
    feed.together = may_join();
    return feed;
  }

  void step(const DeviceBatch& b) {
    const bool whole = b.global == options_.batch;
    if (!whole) settle();  // a stretch of whole batches ends here, and counts
    if (const double rate = schedule_.at(state_.steps); rate != rate_) {
      queue_together();
      engine_.set_learning_rate(rate);
      rate_ = rate;
    }
    if (options_.accumulate > 1)
      accumulate(b, whole);
    else if (Engine::Ready& ready = whole ? full_ : ready_to_train(engine_, b.global); queued())
      queue(ready, b, whole);
    else
      wait(ready, b, whole);
    result_.images += b.global;
    ++state_.steps, ++state_.batch;
    if (!queued()) observer_.on_step(state_.steps, total_, state_.last_loss);
  }

  void wait(Engine::Ready& ready, const DeviceBatch& b, bool whole) {
    const bool timed = whole && state_.steps >= first_timed_;
    const auto start = Clock::now();
    if (engine_.groups() != nullptr) engine_.ask_to_stop(options_.stop && options_.stop());
    const double waited = exposed();
    const Traffic before = traffic();
    const double loss = b.count == 0 ? engine_.empty_step(ready, b.images, b.labels, state_.steps + 1)
                                     : engine_.train_step(ready, b.images, b.labels, state_.steps + 1,
                                                          timed ? heard(whole) : Recorders());
    if (timed) result_.step_seconds.push_back(since(start));
    if (engine_.groups() != nullptr) {
      if (timed) add_exchange(exposed() - waited, before, traffic());
      result_.stopped = engine_.anyone_stops(ready);
    }
    count(loss, engine_.correct(ready), b.global);
  }

  // The recorders of a timed step: those of a watch hear whole steps alone, without the costs of others.
  Recorders heard(bool whole) const {
    return whole && watched_.attached() ? watched_.recorders() : Recorders(recorders_);
  }

  void count(double loss, double correct, std::int64_t images) {
    if (state_.steps == 0) state_.first_loss = loss;
    state_.last_loss = loss;
    state_.tally.add(loss, correct, images);
  }

  // One step in parts: all add their gradients up, and the last updates. Times are those of one part.
  void accumulate(const DeviceBatch& b, bool whole) {
    const bool timed = whole && state_.steps >= first_timed_;
    const std::int64_t each = options_.batch / options_.accumulate;
    const auto start = Clock::now();
    double loss = 0, correct = 0;
    engine_.forget_gradients();
    for (std::int64_t first = 0; first < b.count; first += each) {
      const std::int64_t part = std::min(each, b.count - first);
      const bool last = first + part == b.count;
      Engine::Ready& ready = engine_.ready(Mode::train, part, part_of_batch(engine_, b.global, first, last));
      const bool recorded = timed && last && &ready == &full_;
      loss += engine_.train_step(ready, images_from(ready, b, first, part),
                                 b.labels + first * ready.program.labels_each, state_.steps + 1,
                                 recorded ? heard(whole) : Recorders());
      correct += engine_.correct(ready);
    }
    if (timed) result_.step_seconds.push_back(since(start) / double(options_.accumulate));
    count(loss, correct, b.global);
  }

  // The images of a part. Kernels may rely on the alignment of whole batches, so a part that lacks it is
  // copied.
  const void* images_from(const Engine::Ready& ready, const DeviceBatch& b, std::int64_t first,
                          std::int64_t part) {
    const auto bytes =
        static_cast<std::size_t>(ready.program.graph.value(ready.program.images).type.bytes() / part);
    const std::byte* images =
        static_cast<const std::byte*>(b.images) + static_cast<std::size_t>(first) * bytes;
    constexpr std::size_t kAlignment = 256;
    if (static_cast<std::size_t>(first) * bytes % kAlignment == 0) return images;
    const std::size_t wanted = static_cast<std::size_t>(part) * bytes;
    if (part_images_.bytes() < wanted) part_images_ = engine_.device().allocate(wanted);
    engine_.device().copy(part_images_.data(), images, wanted);
    return part_images_.data();
  }

  void queue(Engine::Ready& ready, const DeviceBatch& b, bool whole) {
    const bool watched = whole && watched_.attached();
    const bool timed =
        whole && !watched && state_.steps >= first_timed_ && parts_timed_ < options_.parts_timed;
    if (timed) ++parts_timed_;
    waiting_images_ += b.global;
    ++waiting_;
    uncounted_ = uncounted_ || watched;
    if (joins_ && whole && !watched && !timed && &ready == &full_) {
      together_.push_back({b.images, b.labels});
      if (together_.size() == Engine::kStepsTogether) queue_together();
      return;
    }
    queue_together();
    const std::size_t captures = ready.executor->captures();
    if (b.count == 0)
      engine_.empty_step(ready, b.images, b.labels, state_.steps + 1);
    else
      engine_.queue_step(ready, b.images, b.labels, state_.steps + 1,
                         watched ? watched_.recorders()
                         : timed ? Recorders(recorders_)
                                 : Recorders());
    plain_ = plain_ && whole && !timed && captures == ready.executor->captures() && captures > 0;
  }

  // Steps that wait to be queued in one launch.
  void queue_together() {
    if (together_.empty()) return;
    const std::size_t captures = full_.executor->captures();
    engine_.queue_steps(full_, together_);
    plain_ = plain_ && captures == full_.executor->captures() && captures > 0;
    together_.clear();
  }

  void add_exchange(double waited, const Traffic& before, const Traffic& after) {
    result_.waited_seconds.push_back(waited);
    for (std::size_t i = 0; i < Collective::kKinds; ++i) {
      result_.exchange_seconds += after.lines[i].seconds - before.lines[i].seconds;
      result_.exchange_bytes += double(after.lines[i].bytes - before.lines[i].bytes);
    }
  }

  Traffic traffic() const { return engine_.groups() ? engine_.groups()->traffic() : Traffic{}; }
  double exposed() const { return engine_.groups() ? engine_.groups()->exposed_seconds() : 0; }

  bool settles_now() const {
    if (!queued() || waiting_ == 0) return false;
    constexpr std::int64_t kTogether = 64;  // steps: ranks must settle at the same ones
    if (engine_.groups() != nullptr && state_.steps % kTogether == 0) return true;
    if (options_.settle_every > 0 && state_.steps % options_.settle_every == 0) return true;
    if (engine_.groups() != nullptr) return false;
    constexpr double kSeconds = 0.1;
    return since(stretch_start_) > kSeconds;
  }

  // Waits for the queued steps and adds their losses.
  void settle() {
    if (!queued() || waiting_ == 0) return;
    queue_together();
    const Span span(kSettleSpan, SpanKind::wait);
    const auto sums = engine_.take_tally();
    const double seconds = since(stretch_start_);
    if (sums[kTallyBadStep] > 0)
      throw LossNotFinite(
          Blame::run,
          fmt::format("the loss became {} at step {}", sums[kTallyBadLoss],
                      state_.steps - waiting_ + static_cast<std::int64_t>(sums[kTallyBadStep])),
          Hint{fmt::format("{}; with `no-graph` the run stops at the layer", kCalmer)});
    if (state_.steps == waiting_) state_.first_loss = sums[kTallyFirstLoss];
    state_.last_loss = sums[kTallyLastLoss];
    state_.tally.loss += sums[kTallyLoss];
    state_.tally.correct += sums[kTallyCorrect];
    state_.tally.images += waiting_images_;
    // A stretch with a short batch, timed parts or captures does not show the cost of a step.
    if (plain_ && !uncounted_) result_.step_seconds.push_back(seconds / static_cast<double>(waiting_));
    waiting_ = waiting_images_ = 0, plain_ = true, uncounted_ = false;
    if (engine_.groups() != nullptr) {
      double stop = options_.stop && options_.stop() ? 1 : 0;
      engine_.groups()->world().all_reduce(&stop, 1);
      result_.stopped = stop > 0;
    }
    stretch_start_ = Clock::now();
    observer_.on_step(state_.steps, total_, state_.last_loss);
  }

  void end_epoch() {
    const auto images = static_cast<double>(state_.tally.images);
    const double seconds = since(epoch_start_);
    EpochResult epoch{.epoch = state_.epoch + 1,
                      .loss = state_.tally.loss / images,
                      .train_accuracy = state_.tally.correct / images,
                      .seconds = epoch_seconds_ + seconds};
    result_.train_seconds += seconds;
    test(fmt::format("after epoch {}", epoch.epoch));
    epoch.test_accuracy = result_.last_eval.accuracy;
    epoch.test_loss = result_.last_eval.loss;
    state_.epochs.push_back(epoch);
    observer_.on_epoch(epoch);
    ++state_.epoch, state_.batch = 0, state_.tally = {};
    epoch_seconds_ = 0;
    epoch_start_ = stretch_start_ = Clock::now();
  }

  void test_within_epoch() {
    watched_.before(false, [&] { settle(); });
    const double seconds = since(epoch_start_);
    result_.train_seconds += seconds, epoch_seconds_ += seconds;
    test(fmt::format("after step {}", state_.steps));
    observer_.on_test(result_.evaluations.back());
    epoch_start_ = stretch_start_ = Clock::now();
  }

  // Tests the network as it is now; `when` says so in a message.
  void test(const std::string& when) {
    engine_.average_statistics();
    result_.last_eval = evaluate(engine_, data_.test, options_.preprocess,
                                 options_.batch / options_.accumulate, options_.feed);
    if (!std::isfinite(result_.last_eval.loss))
      throw LossNotFinite(Blame::run,
                          fmt::format("the loss of the test images is {} {}", result_.last_eval.loss, when),
                          Hint{kCalmer});
    result_.eval_seconds += result_.last_eval.seconds;
    result_.evaluations.push_back({state_.steps, result_.train_seconds, result_.eval_seconds,
                                   result_.last_eval.accuracy, result_.last_eval.loss});
    result_.target_reached = options_.target > 0 && result_.last_eval.accuracy >= options_.target;
  }

  Engine& engine_;
  const Dataset& data_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  Engine::Ready& full_;
  std::unique_ptr<Feed> feed_;
  StepTimer timer_;
  std::vector<Recorder*> recorders_;  // of the timed steps: the timer, and the caller's
  const std::int64_t total_;
  const Schedule schedule_;
  RunState state_;
  WatchedSteps watched_;
  std::int64_t first_timed_ = 0;
  TrainResult result_;
  Clock::time_point epoch_start_;  // or the end of the last test within the epoch
  double epoch_seconds_ = 0;       // of this epoch before that
  Buffer part_images_;             // of a part of a batch that had to be copied

  // Queued steps: their number, their images, their start time, and whether all are alike.
  std::int64_t waiting_ = 0, waiting_images_ = 0, parts_timed_ = 0;
  bool joins_ = false;                       // several steps in one launch
  std::vector<Engine::StepInput> together_;  // those that are not queued yet
  std::optional<double> rate_;               // the learning rate that was set last
  bool plain_ = true;
  bool uncounted_ = false;  // some were watched: they run like the others, but the watch takes its time
  Clock::time_point stretch_start_;
};

}  // namespace

std::string divergence_of(const RunState& state, double guessing_loss) {
  constexpr double kFar = 10;
  if (state.epochs.empty() || !(guessing_loss > 0)) return {};
  const double loss = state.epochs.back().test_loss;
  if (!(loss > kFar * guessing_loss) || !(loss > state.first_loss)) return {};
  return fmt::format(
      "the run diverged: its test loss is {:.6g}; it was {:.4g} at the first step, and guessing has {:.4g}",
      loss, state.first_loss, guessing_loss);
}

Engine::Ready& ready_to_train(Engine& engine, std::int64_t batch, std::int64_t accumulate) {
  if (accumulate > 1) {
    const std::int64_t each = batch / accumulate;
    return engine.ready(Mode::train, each, part_of_batch(engine, batch, batch - each, true));
  }
  const Distribution ranks = engine.ranks();
  const Share share = share_of(batch, ranks.data_parts, ranks.data_index);
  return engine.ready(Mode::train, std::max<std::int64_t>(1, share.count), {batch, share.first});
}

LoaderOptions training_loader(const Engine& engine, const TrainOptions& o) {
  LoaderOptions options = loader_options(engine, o.preprocess, o.batch);
  options.epochs = o.epochs;
  options.shuffle = o.shuffle;
  options.seed = o.seed;
  options.augment = o.augment;
  options.threads = o.loader_threads;
  options.first_epoch = o.start.epoch;
  options.first_batch = o.start.batch;
  options.parts = engine.ranks().data_parts;
  options.part = engine.ranks().data_index;
  return options;
}

void require_trainable(Engine& engine, const Dataset& data, std::int64_t batch, std::int64_t accumulate) {
  if (fixed_batch(engine.net()) > 0 && engine.ranks().data_parts > 1)
    reject(Hint{"export it with an open batch"}, "model '{}' has a fixed batch, which ranks cannot split",
           engine.net().name);
  if (const int parts = engine.ranks().data_parts; batch < parts)
    reject(Hint{"take a larger `batch`, or fewer ranks"}, "a batch of {} cannot be split among {} ranks",
           batch, parts);
  if (accumulate > 1 && fixed_batch(engine.net()) > 0)
    reject(Hint{"leave `accumulate` out"}, "model '{}' has a fixed batch", engine.net().name);
  const Program& program = ready_to_train(engine, batch, accumulate).program;
  const std::int64_t units = classes_of(program);
  require_labels(engine, program, data.train);
  if (data.test.count() > 0) require_labels(engine, program, data.test);
  const bool text = !data.train.text.empty();
  // A text need not use the whole vocabulary.
  if (units != 0 && (text ? units < data.classes : units != data.classes))
    reject(Hint{fmt::format("give its last layer {0} units; models of the zoo take :{1}={0}{2}", data.classes,
                            text ? "vocab" : "classes",
                            text ? "" : "; to keep trained `weights`, add `new-head`")},
           "model '{}' has {} classes, but data set '{}' has {}", engine.net().name, units, data.name,
           data.classes);
  if (engine.parameter_count() == 0)
    reject("model '{}' has nothing to learn: none of its layers has weights", engine.net().name);
  if (!text) require_fit(data.train.image, Shape(engine.net().input));
  if (const std::int64_t fixed = fixed_batch(engine.net()); fixed > 0 && data.train.count() % fixed != 0)
    reject(Hint{fmt::format("take `train-size` {}", data.train.count() / fixed * fixed)},
           "model '{}' has a fixed batch of {}, and {} training images are not a multiple of it",
           engine.net().name, fixed, with_commas(data.train.count()));
  if (batch > data.train.count())
    reject(Hint{fmt::format("take a `batch` of at most {}", with_commas(data.train.count()))},
           "a batch of {} is larger than the set of {} training images", with_commas(batch),
           with_commas(data.train.count()));
  // The short last batch has its own plan, which may be refused too: check now, not at the end.
  const std::int64_t last = data.train.count() % batch;
  if (engine.groups() != nullptr && last > 0) ready_to_train(engine, last);
}

TrainResult train(Engine& engine, const Dataset& data, const TrainOptions& options, TrainObserver& observer) {
  require_trainable(engine, data, options.batch, options.accumulate);
  return Training(engine, data, options, observer).run();
}

}  // namespace headroom
