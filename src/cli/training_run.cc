#include "cli/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/checkpoints.h"
#include "cli/live_page.h"
#include "cli/profile_steps.h"
#include "cli/prove.h"
#include "cli/run_watch.h"
#include "cli/signals.h"
#include "cli/tensorboard_log.h"
#include "cli/train_watcher.h"
#include "cli/training_output.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"
#include "data/checksum.h"
#include "page/page.h"
#include "predict/predict.h"
#include "profile/resources.h"
#include "timing/step_model.h"
#include "train/save_onnx.h"

namespace headroom::cli {
namespace {

using Clock = std::chrono::steady_clock;

const SpanName kStartSpan{"start-up"}, kLoadSpan{"load the data"}, kSetupSpan{"train setup"},
    kCeilingsSpan{"measure the machine"}, kSavingSpan{"save files"};

// Everything in which two ranks could differ unnoticed, or wait for each other forever.
std::string run_text(const Engine& engine, const Dataset& data, const TrainOptions& train,
                     const RunRequest& request) {
  std::string text = fmt::format(
      "epochs={};target={};tested every {};log={};checkpoints={} every {};resume={};weights to save={}, "
      "{};best={};board={};",
      train.epochs, train.target, train.eval_every, request.log_every, request.checkpoint_dir,
      request.checkpoint_every.value_or(0), request.resume, request.save, request.save_onnx,
      request.keep_best, request.tensorboard);
  std::uint32_t weights = 0;  // of the weights that every rank holds whole
  for (const std::string& name : engine.storage().names(Role::parameter)) {
    if (engine.storage().part(name)) continue;
    std::string bytes(static_cast<std::size_t>(engine.storage().type(name).bytes()), '\0');
    engine.storage().read(name, bytes.data(), bytes.size());
    weights = checksum(bytes, weights);
  }
  for (const auto& [what, value] : identity_of(engine, data, train))
    text += fmt::format("{}={};", what, value.size() > 80 ? fmt::format("{:08x}", checksum(value)) : value);
  return text + fmt::format("data checksum={:08x};first weights={:08x}", checksum_of(data), weights);
}

std::string best_file(const RunRequest& request) {
  return request.save.empty() ? request.checkpoint_dir + "/best.safetensors" : request.save;
}

// One training, from its options to its files.
class TrainingRun {
 public:
  TrainingRun(const RunRequest& request, const Common& wanted, bool demo)
      : request_(request), common_(wanted), demo_(demo), ranks_(request.ranks, common_) {}
  // Before prepare().
  void profile(const ProfileOptions& options, bool until_seen) {
    profile_.emplace(options);
    until_seen_ = until_seen;
  }
  void prepare();  // everything that can be refused, before the first step
  void train();
  void conclude();  // everything that is known of the run
  void report();    // prints it
  const RunProfile& profiled() const { return profile_->profile(); }
  bool is_alone() const { return !ranks_.several(); }
  void add_proofs(Sheet proofs) { profile_->add_proofs(std::move(proofs)); }
  void finish();  // writes files; throws if one could not be written, or if the run failed

 private:
  EngineOptions engine_options();
  void keep_best();
  void save(const std::string& file, SaveOptions options = {});
  void save_weights_and_onnx();
  void watch_steps();
  bool must_stop();
  void run_steps(TrainWatcher& watcher);
  RunRecord record() const {
    RunRecord all = training_record(*finished_, command_line());
    if (until_seen_) all.verb = "profile";
    return all;
  }
  RunProfile all_of_run() const;  // for the files
  std::optional<DeterministicOverhead> overhead() const;

  const RunRequest& request_;
  Common common_;
  bool demo_;
  RankRun ranks_;
  Clock::time_point start_ = Clock::now();
  std::optional<RunSetup> setup_;
  std::unique_ptr<Device> device_;
  Dataset data_;
  std::optional<Split> outside_;
  std::optional<EvalResult> of_outside_;
  std::optional<Engine> engine_;
  const Engine::Ready* ready_ = nullptr;
  Saving saving_;
  std::unique_ptr<CheckpointFolder> checkpoints_;
  std::optional<BestWeights> best_;
  std::optional<TensorBoardLog> board_;
  Machine machine_;
  Prediction prediction_;
  TrainResult result_;
  std::optional<Diverged> diverged_;
  std::optional<RanksReport> shared_;
  std::optional<FinishedTraining> finished_;
  std::optional<ProfileRun> profile_;
  std::optional<RunWatch> watch_;  // if files show the run over time
  std::unique_ptr<LivePage> live_;
  bool until_seen_ = false;        // a run that only a profile is wanted of
  bool profile_stopped_ = false;   // it has all its steps, and nothing else stopped the run
  std::int64_t steps_needed_ = 0;  // by that profile
};

EngineOptions TrainingRun::engine_options() {
  EngineOptions options;
  ranks_.agree([&] { options = common_.engine_options(setup_->kernels); });
  const Distribution& among = ranks_.distribution();
  const bool parts = among.model_parts > 1 || among.shard_optimizer;
  if (!request_.clip_norm && setup_->update.clip_norm > 0 && parts) {
    note("headroom: ranks that split layers or the optimizer's state do not clip gradients\n");
    setup_->update.clip_norm = 0;
  }
  options.update = setup_->update;
  options.label_smoothing = setup_->label_smoothing;
  options.groups = ranks_.groups(*device_);
  return options;
}

void TrainingRun::prepare() {
  ranks_.agree([&] {
    const Span span(kStartSpan, SpanKind::start_up);
    setup_ = resolve(request_, common_);
    if (ranks_.first() && !until_seen_)
      live_ = open_live_page(request_.live, fmt::format("{} on {}", setup_->model, setup_->data));
    device_ = common_.open();
    if (!request_.save_onnx.empty()) require_onnx(setup_->net);  // check before the training, not after
  });
  Progress preparing("preparing");
  preparing.stage(fmt::format("data set {}", setup_->data), demo_);
  ranks_.agree([&] {
    const Span span(kLoadSpan, SpanKind::data);
    data_ = load_data(*setup_, false, &ranks_);
  });
  if (!request_.wild.empty()) ranks_.agree([&] { outside_ = load_outside(request_.wild, data_, *setup_); });
  preparing.clear();
  const EngineOptions options = engine_options();
  TrainOptions& training = setup_->train;
  std::optional<Span> setup_span;
  setup_span.emplace(kSetupSpan, SpanKind::setup);
  ranks_.agree([&] {
    engine_.emplace(setup_->net, *device_, options);
    if (!request_.weights.empty()) load(*engine_, request_.weights, request_.new_head);
    require_trainable(*engine_, data_, training.batch, training.accumulate);
  });
  if (ranks_.distribution().shard_optimizer && !keeps_state(setup_->update))
    note("headroom: this optimizer keeps no state: --shard-optimizer has no effect\n");
  if (ranks_.several()) ranks_.require_same("run", run_text(*engine_, data_, training, request_));
  ready_ = &ready_to_train(*engine_, training.batch, training.accumulate);
  if (common_.explain) note(ready_->explain());
  checkpoints_ = prepare_checkpoints(request_, ranks_, *engine_, data_, training, saving_);
  if (request_.keep_best) keep_best();
  if (!request_.tensorboard.empty())
    ranks_.agree([&] { board_.emplace(request_.tensorboard, *engine_, data_, training, saving_); });
  if (profile_) watch_steps();
  setup_span.reset();
  if (!ranks_.first()) return;
  // Any rank can measure the machine's ceilings; the others wait at their first exchange.
  preparing.stage("this machine's ceilings", demo_);
  const Span span(kCeilingsSpan, SpanKind::setup);
  machine_ = common_.machine(*device_);
  prediction_ = predict(ready_->plan(), machine_, time_model_for(machine_));
}

// A profile alone needs no more steps than it watches, and no fewer.
void TrainingRun::watch_steps() {
  StepWatch& watch = profile_->watch(*device_, ready_->plan(), ranks_.rank());
  TrainOptions& training = setup_->train;
  training.watch = &watch;
  if (!until_seen_) {
    watch.skip += training.parts_timed;  // those run part by part
    return;
  }
  training.parts_timed = 0;
  const std::int64_t whole = std::max<std::int64_t>(1, data_.train.count() / training.batch);
  const std::int64_t needed = steps_needed(watch);
  const std::int64_t short_ones = data_.train.count() % training.batch == 0 ? 0 : needed / whole;
  steps_needed_ = training.start.steps + needed + short_ones;
  constexpr std::int64_t kToCapture = 1;  // epochs: batches at addresses of their own are captured once each
  if (!request_.epochs) training.epochs = training.start.epoch + (needed + whole - 1) / whole + kToCapture;
}

void TrainingRun::save(const std::string& file, SaveOptions options) {
  options.spec = setup_->spec();
  options.precision = setup_->save_precision;
  saving_.attempt([&] {
    for (const std::string& what : save_weights(*engine_, file, options)) warn(what);
  });
}

void TrainingRun::keep_best() {
  best_.emplace(best_file(request_), has_classes(setup_->net), [&](const EpochResult& epoch) {
    save(best_->file(), {.facts = {{"epoch", std::to_string(epoch.epoch)},
                                   {"test_accuracy", fmt::format("{}", epoch.test_accuracy)},
                                   {"test_loss", fmt::format("{}", epoch.test_loss)}}});
  });
  best_->resume(setup_->train.start.epochs);
}

// A profile that has all its steps ends its run as planned: that is no interruption.
bool TrainingRun::must_stop() {
  if (noted_signal() != 0 || saving_.failed()) return true;
  profile_stopped_ = until_seen_ && profile_->is_done();
  return profile_stopped_;
}

void TrainingRun::run_steps(TrainWatcher& watcher) {
  StepsOfProfile until_seen(watcher, steps_needed_);
  TrainObserver* observer = &watcher;
  if (until_seen_) observer = &until_seen;
  try {
    result_ = headroom::train(*engine_, data_, setup_->train, *observer);
  } catch (const Diverged& error) {
    if (ranks_.several()) throw;  // the others do not know: the run ends at once
    diverged_ = error, result_ = error.so_far;
  }
  if (profile_stopped_) result_.stopped = false;
}

void TrainingRun::train() {
  const char* const what = until_seen_ ? "profiling" : "training";
  TrainWatcher watcher(fmt::format("{} {} on {}", what, setup_->net.name, setup_->data), setup_->train.epochs,
                       request_.log_every, has_classes(setup_->net));
  const bool keeps_files = request_.files.any() || (profile_ && profile_->has_folder());
  if (ranks_.first() && (keeps_files || live_)) watch_.emplace();
  watcher.tell(best_ ? &*best_ : nullptr);
  watcher.tell(board_ ? &*board_ : nullptr);
  watcher.tell(profile_ ? &*profile_ : nullptr);
  watcher.tell(watch_ ? &*watch_ : nullptr);
  watcher.tell(live_.get());
  if (live_) live_->begin(has_classes(setup_->net), setup_->train.batch);
  note_signals();
  setup_->train.stop = [&] { return must_stop(); };
  setup_->train.settle_every = request_.log_every;
  run_steps(watcher);
  if (watch_) watch_->stop();
  if (live_)
    live_->end(diverged_ ? "the training diverged" : result_.stopped ? "stopped" : "the training ended");
}

RunProfile TrainingRun::all_of_run() const {
  RunProfile all;
  if (profile_) all = profile_->profile();
  if (until_seen_) return all;
  all.record = record();  // the times of all steps, not only of those that were watched
  if (watch_) watch_->add_to(all.record);
  return all;
}

std::optional<DeterministicOverhead> TrainingRun::overhead() const {
  if (!common_.deterministic || !engine_->queues() || ranks_.several() || result_.stopped) return {};
  return deterministic_overhead(setup_->net, *device_, engine_->options(), setup_->train.batch);
}

void TrainingRun::conclude() {
  if (ranks_.several()) shared_ = report_ranks(*engine_, ready_->plan(), result_);
  const std::optional<Recipe>& recipe = setup_->recipe;
  finished_.emplace(
      FinishedTraining{.engine = *engine_,
                       .data = data_,
                       .options = setup_->train,
                       .plan = ready_->plan(),
                       .passes = ready_->passes,
                       .machine = machine_,
                       .prediction = prediction_,
                       .result = result_,
                       .ranks = shared_ ? &*shared_ : nullptr,
                       .data_name = setup_->data,
                       .precision = common_.precision,
                       .optimizer = to_text(setup_->update),
                       .published = recipe && !recipe->published.empty() ? Json(recipe->published) : Json(),
                       .resources = process_resources(),
                       .wall_s = std::chrono::duration<double>(Clock::now() - start_).count(),
                       .view = common_.tables.layers()});
  if (outside_ && !result_.stopped && !until_seen_ && !diverged_)
    of_outside_ = evaluate(*engine_, *outside_, setup_->train.preprocess,
                           setup_->train.batch / setup_->train.accumulate);
  if (until_seen_ && !ranks_.several() && !diverged_) {
    engine_->set_learning_rate(0);  // repeated updates must not spoil the weights that are measured
    profile_->measure_repeated(*ready_, *device_, common_.device);
  }
  if (!profile_) return;
  profile_->finish(ranks_.first() ? record() : RunRecord{}, ready_->plan(), engine_->groups());
  if (watch_) profile_->add_progress(*watch_);
}

void TrainingRun::report() {
  if (profile_ && ranks_.first()) saving_.attempt([&] { profile_->write(); });
  if (!ranks_.first() || diverged_) return;
  if (until_seen_) {
    profile_->print(common_);
    return flush_output();
  }
  print_result(*finished_, common_, overhead(), best_ ? &*best_ : nullptr,
               of_outside_ ? &*of_outside_ : nullptr);
  if (demo_ && !result_.stopped && !common_.json) print_what_is_next();
  flush_output();  // the result is out before a file can fail
}

void TrainingRun::save_weights_and_onnx() {
  const bool kept = best_ && best_->best();
  if (!request_.save.empty() && !kept) save(request_.save);
  if (request_.save_onnx.empty()) return;
  if (kept) saving_.attempt([&] { load_weights(*engine_, best_->file()); });
  saving_.attempt([&] { save_onnx(*engine_, request_.save_onnx); });
}

void TrainingRun::finish() {
  if (profile_ && ranks_.first() && !saving_.failed()) profile_->say_where();
  if (board_) board_->flush();
  if (!diverged_) save_weights_and_onnx();
  if (ranks_.first() && request_.files.any())
    saving_.attempt([&] { write_files(request_.files, all_of_run()); });
  saving_.finish();
  if (live_ && !diverged_) live_->show(html_page({{"", all_of_run()}}));
  if (live_) live_->keep([] { return noted_signal() != 0; });
  if (diverged_) throw *diverged_;
  if (until_seen_ && noted_signal() == 0) return;
  if (result_.stopped || until_seen_) leave(request_, result_);
  if (!result_.diverged.empty()) throw Error(Blame::run, result_.diverged, Hint{kCalmer});
}

}  // namespace

void training_run(const RunRequest& request, const Common& wanted, bool demo) {
  TrainingRun run(request, wanted, demo);
  if (!request.files.report.empty()) run.profile({}, false);  // for the page's timeline
  run.prepare();
  run.train();
  run.conclude();
  run.report();
  run.finish();
}

void profiled_training_run(const RunRequest& request, const Common& wanted, const ProfileOptions& profile,
                           bool until_seen) {
  require_profile(profile);
  TrainingRun run(request, wanted, false);
  run.profile(profile, until_seen);
  run.prepare();
  run.train();
  run.conclude();
  if (profile.prove && run.is_alone())
    run.add_proofs(prove(run.profiled(), request, wanted, profile, profile_of_training));
  run.report();
  run.finish();
}

RunProfile profile_of_training(const RunRequest& request, const Common& wanted,
                               const ProfileOptions& profile) {
  TrainingRun run(request, wanted, false);
  run.profile(profile, true);
  run.prepare();
  run.train();
  run.conclude();
  return run.profiled();
}

}  // namespace headroom::cli
