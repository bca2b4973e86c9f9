#include "cli/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "bench/deterministic_overhead.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "data/checksum.h"
#include "predict/predict.h"
#include "profile/resources.h"
#include "report/sampling.h"
#include "report/training.h"
#include "train/checkpoint.h"
#include "train/save_onnx.h"
#include "train/weights.h"

namespace headroom::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Watcher final : public TrainObserver {
 public:
  Watcher(const std::string& title, std::int64_t epochs, std::int64_t log_every, bool classifier)
      : progress_(title), epochs_(epochs), log_every_(log_every), classifier_(classifier) {}
  void on_step(std::int64_t step, std::int64_t of, double loss) override {
    if (log_every_ > 0 && step % log_every_ == 0)
      progress_.line(fmt::format("step {}: loss {:.6g}", step, loss));
    progress_.update(step, of, fmt::format("loss {:.4f}", loss));
  }
  void on_epoch(const EpochResult& e) override {
    const std::string success =
        classifier_ ? fmt::format("accuracy {:.4f} training, {:.4f} test", e.train_accuracy, e.test_accuracy)
                    : fmt::format("test loss {:.4f}", e.test_loss);
    progress_.line(fmt::format("epoch {} of {}: loss {:.4f}, {}, {}", e.epoch, epochs_, e.loss, success,
                               human_seconds(e.seconds)));
  }

 private:
  Progress progress_;
  std::int64_t epochs_, log_every_;
  bool classifier_;
};

// Everything in which two ranks could differ unnoticed, or wait for each other forever.
std::string run_text(const Engine& engine, const Dataset& data, const TrainOptions& train,
                     const RunRequest& request) {
  std::string text =
      fmt::format("epochs={};target={};log={};checkpoints={} every {};resume={};weights to save={}, {};",
                  train.epochs, train.target, request.log_every, request.checkpoint_dir,
                  request.checkpoint_every.value_or(0), request.resume, request.save, request.save_onnx);
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

constexpr const char* kNext =
    "\nNext:\n"
    "  headroom predict lenet5 --machine here,h200,k80 --batch 256    what it must cost elsewhere\n"
    "  headroom train lenet5 --explain --batch 256                    why each kernel was chosen\n"
    "  headroom roofline                                              this machine's ceilings, measured with "
    "care\n"
    "  headroom recipe list                                           published cases to repeat\n";

// Resumes an earlier run on request and sets up this run's own checkpoints.
std::unique_ptr<CheckpointFolder> prepare_checkpoints(const RunRequest& request, const RankRun& ranks,
                                                      Engine& engine, const Dataset& data,
                                                      TrainOptions& train) {
  const RunIdentity identity = identity_of(engine, data, train);
  const bool newest = request.resume == "auto";
  std::unique_ptr<CheckpointFolder> folder;
  ranks.agree([&] {
    // Before the folder is made: a wrong file leaves nothing behind.
    if (!newest && !request.resume.empty()) train.start = read_checkpoint(request.resume, engine, identity);
    if (!request.checkpoint_dir.empty())
      folder = std::make_unique<CheckpointFolder>(request.checkpoint_dir, request.keep.value_or(3));
  });
  if (folder) {
    train.save_every = request.checkpoint_every.value_or(0);
    train.save = [&engine, identity, to = folder.get()](const RunState& state) {
      to->write(engine, state, identity);
    };
  }
  if (newest) {
    const auto found = folder->resume(engine, identity, [](const std::string& what) {
      note(fmt::format("headroom: {}; using the one before it\n", what));
    });
    if (found) train.start = *found;
  }
  ranks.agree([&] {
    if (train.start.epoch > train.epochs)
      reject(Hint{"ask for more --epochs, or take another --checkpoint-dir"},
             "the run to be resumed has already finished its {} epochs", train.start.epoch);
  });
  if (train.start.steps > 0)
    note(fmt::format("resuming after step {}, in epoch {}\n", train.start.steps, train.start.epoch + 1));
  return folder;
}

[[noreturn]] void leave(const RunRequest& request, const TrainResult& result) {
  const int noted = noted_signal(), signal = noted == 0 ? SIGTERM : noted;  // or only another rank got one
  note(fmt::format("headroom: stopped by {} after step {}; ", signal == SIGINT ? "SIGINT" : "SIGTERM",
                   result.state.steps));
  if (!request.checkpoint_dir.empty())
    note(fmt::format("resume with --checkpoint-dir {} --resume auto\n", request.checkpoint_dir));
  else if (!request.save.empty())
    note(fmt::format("the weights are in {}\n", request.save));
  else
    note("nothing was saved: neither --checkpoint-dir nor --save was given\n");
  throw Interrupted{128 + signal};
}

}  // namespace

void training_run(const RunRequest& request, const Common& wanted, bool demo) {
  const auto start = Clock::now();
  Common common = wanted;
  RankRun ranks(request.ranks, common);
  std::optional<RunSetup> resolved;
  std::unique_ptr<Device> device;
  Dataset data;
  ranks.agree([&] {
    resolved = resolve(request, common);
    device = common.open();
    if (!request.save_onnx.empty()) require_onnx(resolved->net);  // check before the training, not after
  });
  RunSetup& setup = *resolved;
  ranks.agree([&] { data = load_data(setup, false, &ranks); });
  EngineOptions options;
  ranks.agree([&] { options = common.engine_options(setup.kernels); });
  const Distribution& among = ranks.distribution();
  if (!request.clip_norm && setup.update.clip_norm > 0 && (among.model_parts > 1 || among.shard_optimizer)) {
    note("headroom: ranks that split layers or the optimizer's state do not clip gradients\n");
    setup.update.clip_norm = 0;
  }
  options.update = setup.update;
  options.label_smoothing = setup.label_smoothing;
  options.groups = ranks.groups(*device);
  std::optional<Engine> made;
  ranks.agree([&] {
    made.emplace(setup.net, *device, options);
    if (!request.weights.empty()) load_weights(*made, request.weights);
    require_trainable(*made, data, setup.train.batch, setup.train.accumulate);
  });
  Engine& engine = *made;
  if (ranks.distribution().shard_optimizer && !keeps_state(setup.update))
    note("headroom: this optimizer keeps no state: --shard-optimizer has no effect\n");
  if (ranks.several()) ranks.require_same("run", run_text(engine, data, setup.train, request));
  const Engine::Ready& ready = ready_to_train(engine, setup.train.batch, setup.train.accumulate);
  const Plan& plan = ready.plan();
  if (common.explain) note(ready.explain());
  const auto checkpoints = prepare_checkpoints(request, ranks, engine, data, setup.train);
  // Any rank can measure the machine's ceilings; the others wait at their first exchange.
  const Machine machine = ranks.first() ? common.machine(*device) : Machine{};
  const Prediction prediction = ranks.first() ? predict(plan, machine) : Prediction{};

  TrainResult result;
  std::optional<Diverged> diverged;
  {
    Watcher watcher(fmt::format("training {} on {}", setup.net.name, setup.data), setup.train.epochs,
                    request.log_every, setup.net.loss != kReconstruction);
    note_signals();
    setup.train.stop = [] { return noted_signal() != 0; };
    setup.train.settle_every = request.log_every;
    try {
      result = train(engine, data, setup.train, watcher);
    } catch (const Diverged& error) {
      if (ranks.several()) throw;  // the others do not know: the run ends at once
      diverged = error, result = error.so_far;
    }
  }
  std::optional<RanksReport> shared;
  if (ranks.several()) shared = report_ranks(engine, plan, result);
  if (!diverged && !request.save.empty()) save_weights(engine, request.save);
  if (!diverged && !request.save_onnx.empty()) save_onnx(engine, request.save_onnx);
  if (result.stopped) leave(request, result);
  const auto end = [&] {  // of the run: a diverged one has failed
    if (diverged) throw *diverged;
    if (!result.diverged.empty()) throw Error(Blame::run, result.diverged, Hint{kCalmer});
  };
  if (!ranks.first()) return;
  const Json published =
      setup.recipe && !setup.recipe->published.empty() ? Json(setup.recipe->published) : Json();
  const FinishedTraining finished{.engine = engine,
                                  .data = data,
                                  .options = setup.train,
                                  .plan = plan,
                                  .passes = ready.passes,
                                  .machine = machine,
                                  .prediction = prediction,
                                  .result = result,
                                  .ranks = shared ? &*shared : nullptr,
                                  .data_name = setup.data,
                                  .precision = common.precision,
                                  .optimizer = to_text(setup.update),
                                  .published = published,
                                  .resources = process_resources(),
                                  .wall_s = std::chrono::duration<double>(Clock::now() - start).count()};
  if (!request.record.empty()) write_record(request.record, training_record(finished, command_line()));
  if (diverged) return end();
  std::optional<DeterministicOverhead> overhead;
  if (common.deterministic && engine.queues() && !ranks.several())
    overhead = deterministic_overhead(setup.net, *device, options, setup.train.batch);
  if (common.json) {
    Json json = training_json(finished);
    if (overhead)
      json["deterministic"] = {{"step_ms", spread_json(overhead->deterministic)},
                               {"plain_step_ms", spread_json(overhead->plain)},
                               {"times_slower", overhead->times()}};
    print_json(json);
    return end();
  }
  print(training_text(finished));
  if (overhead)
    print(fmt::format("bits       the same every run: a step takes {}, {} without: {:.2f} times as long\n",
                      human_seconds(overhead->deterministic.median), human_seconds(overhead->plain.median),
                      overhead->times()));
  if (demo) print(kNext);
  end();
}

}  // namespace headroom::cli
