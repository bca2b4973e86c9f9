#include "cli/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>

#include "base/file.h"
#include "bench/deterministic_overhead.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "data/checksum.h"
#include "predict/predict.h"
#include "profile/resources.h"
#include "report/layers.h"
#include "report/metrics.h"
#include "report/ranks.h"
#include "report/record.h"
#include "report/sampling.h"
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

// Everything a finished run can be told from.
struct Finished {
  const RunSetup& setup;
  const std::string& precision;
  const Dataset& data;
  Engine& engine;
  const Plan& plan;
  const Machine& machine;
  const Prediction& prediction;
  const TrainResult& result;
  const RanksReport* ranks;
  Resources resources;
  double wall_s;

  double images_per_s() const {
    return result.train_seconds > 0 ? double(result.images) / result.train_seconds : 0;
  }
  Spread step() const { return spread_of(result.step_seconds); }
  bool classifier() const { return engine.net().loss != kReconstruction; }
  std::int64_t tokens_each() const { return data.train.text.empty() ? 0 : data.train.labels_each(); }
};

// Of text: what a loss per byte in natural logarithms comes to.
Json text_json(double loss) {
  return {{"perplexity", std::exp(loss)}, {"bits_per_byte", loss / std::log(2.0)}};
}

Json result_json(const Finished& f) {
  const EpochResult& last = f.result.state.epochs.back();
  Json epochs = Json::array();
  for (const EpochResult& e : f.result.state.epochs) epochs.push_back(epoch_json(e, f.classifier()));
  Json json = {{"model", f.engine.net().name},
               {"data", f.setup.data},
               {"loss", last.loss},
               {"test_loss", last.test_loss},
               {"first_loss", f.result.state.first_loss},
               {"last_loss", f.result.state.last_loss},
               {"epochs", epochs},
               {"steps", f.result.state.steps},
               {"step_ms", spread_json(f.step())},
               {"images_per_s", f.images_per_s()},
               {"device", f.plan.binding.capabilities.name},
               {"precision", f.precision},
               {"threads", f.plan.binding.capabilities.threads},
               {"feed", f.result.feed},
               {"batch", f.setup.train.batch},
               {"lr", f.setup.train.lr},
               {"optimizer", to_text(f.setup.update)},
               {"parameters", f.engine.parameter_count()},
               {"floor_ms", f.prediction.floor_s * 1e3},
               {"predicted_ms", f.prediction.predicted_s * 1e3},
               {"layers", layers_json(read_layers(f.plan, f.prediction, f.result.plan_steps))},
               {"wall_s", f.wall_s},
               {"user_s", f.resources.user_s},
               {"system_s", f.resources.system_s},
               {"peak_rss_bytes", f.resources.peak_rss_bytes}};
  if (f.classifier()) json["accuracy"] = {{"test", last.test_accuracy}, {"train", last.train_accuracy}};
  if (f.tokens_each() > 0) {
    json["tokens_per_s"] = f.images_per_s() * double(f.tokens_each());
    json["text"] = {{"train", text_json(last.loss)}, {"test", text_json(last.test_loss)}};
  }
  if (f.result.last_eval.metrics.images() > 0)
    json["metrics"] = metrics_json(f.result.last_eval.metrics, f.data.class_names);
  if (f.ranks != nullptr) json["ranks"] = to_json(*f.ranks);
  if (f.setup.train.target > 0) json["target_reached"] = f.result.target_reached;
  if (f.setup.recipe && !f.setup.recipe->published.empty()) json["published"] = f.setup.recipe->published;
  return json;
}

void print_result(const Finished& f) {
  const EpochResult& last = f.result.state.epochs.back();
  const Spread step = f.step();
  const Capabilities& device = f.plan.binding.capabilities;
  const bool gpu = device.kind == DeviceKind::cuda;
  const std::string how = gpu ? "images " + f.result.feed : fmt::format("{} threads", device.threads);
  print(fmt::format("\n{} on {}, batch {}, {}, {} ({}), one training step{}:\n\n", f.engine.net().name,
                    f.setup.data, f.setup.train.batch, f.precision, device.name, how,
                    f.ranks ? fmt::format(" of rank 0 of {}", f.ranks->distribution.ranks()) : ""));
  print(layer_table(read_layers(f.plan, f.prediction, f.result.plan_steps), f.prediction.has_times));
  print(
      "\nMFLOP: multiply-add = 2, forward and backward. Backward includes the update. Floor: the least time "
      "on this "
      "machine's\nmeasured ceilings. Times are medians.\n");
  if (gpu)
    print(
        "Kernel by kernel, by the GPU's own clock; as one launch a step takes what the speed below says.\n");
  print("\n");
  if (f.classifier())
    print(fmt::format("accuracy   {:.4f} test, {:.4f} training (as it ran)\n", last.test_accuracy,
                      last.train_accuracy));
  if (f.setup.recipe)
    for (const auto& [name, value] : f.setup.recipe->published)
      print(fmt::format("published  {} {}\n", name, value));
  print(fmt::format("loss       {:.4f} last epoch, {:.5f} first step; {:.4f} test\n", last.loss,
                    f.result.state.first_loss, last.test_loss));
  if (f.tokens_each() > 0)
    print(fmt::format("text       {:.4f} bits per byte, perplexity {:.3f} training; {:.4f}, {:.3f} test\n",
                      last.loss / std::log(2.0), std::exp(last.loss), last.test_loss / std::log(2.0),
                      std::exp(last.test_loss)));
  const std::string unit = f.tokens_each() > 0 ? "tokens" : "images";
  const double rate = f.images_per_s() * double(std::max<std::int64_t>(1, f.tokens_each()));
  print(fmt::format("speed      {} {}/s; step {} median, {} to {} (10 to 90 %), {} samples\n",
                    with_commas(std::llround(rate)), unit, human_seconds(step.median),
                    human_seconds(step.p10), human_seconds(step.p90), step.samples));
  if (step.samples > 0 && step.median > 0)
    print(fmt::format("headroom   a step could take {}: {:.1f} times faster\n",
                      human_seconds(f.prediction.floor_s), step.median / f.prediction.floor_s));
  if (f.ranks != nullptr) print(ranks_text(*f.ranks));
  print(fmt::format("time       {} wall, {} user, {} system\n", human_seconds(f.wall_s),
                    human_seconds(f.resources.user_s), human_seconds(f.resources.system_s)));
  print(fmt::format(
      "memory     {} at its peak; weights {}, scratch {}\n", human_bytes(double(f.resources.peak_rss_bytes)),
      human_bytes(double(f.engine.storage().bytes())), human_bytes(double(f.engine.arena_bytes()))));
}

// All by which two ranks could differ without noticing, or wait for each other in vain.
std::string run_text(const Engine& engine, const Dataset& data, const TrainOptions& train,
                     const RunRequest& request) {
  std::string text =
      fmt::format("epochs={};target={};log={};checkpoints={} every {};resume={};weights to save={}, {};",
                  train.epochs, train.target, request.log_every, request.checkpoint_dir,
                  request.checkpoint_every.value_or(0), request.resume, request.save, request.save_onnx);
  std::uint32_t weights = 0;  // of those that every rank has whole
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

// Takes an earlier run up, if asked to, and says where this one leaves its own checkpoints.
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
      note(fmt::format("headroom: {}; taking the one before it\n", what));
    });
    if (found) train.start = *found;
  }
  ranks.agree([&] {
    if (train.start.epoch > train.epochs)
      reject(Hint{"ask for more --epochs, or take another --checkpoint-dir"},
             "the run to be resumed is over: it has done {} epochs", train.start.epoch);
  });
  if (train.start.steps > 0)
    note(fmt::format("resuming after step {}, in epoch {}\n", train.start.steps, train.start.epoch + 1));
  return folder;
}

[[noreturn]] void leave(const RunRequest& request, const TrainResult& result) {
  const int noted = noted_signal(), signal = noted == 0 ? SIGTERM : noted;  // or another rank's alone
  note(fmt::format("headroom: stopped by {} after step {}; ", signal == SIGINT ? "SIGINT" : "SIGTERM",
                   result.state.steps));
  if (!request.checkpoint_dir.empty())
    note(fmt::format("go on with --checkpoint-dir {} --resume auto\n", request.checkpoint_dir));
  else if (!request.save.empty())
    note(fmt::format("the weights are in {}\n", request.save));
  else
    note("nothing was asked to be saved (--checkpoint-dir, --save)\n");
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
    if (!request.save_onnx.empty()) require_onnx(resolved->net);  // now rather than after the training
  });
  RunSetup& setup = *resolved;
  ranks.agree([&] { data = load_data(setup, false, &ranks); });
  EngineOptions options;
  ranks.agree([&] { options = common.engine_options(setup.kernels); });
  options.update = setup.update;
  options.groups = ranks.groups(*device);
  std::optional<Engine> made;
  ranks.agree([&] {
    made.emplace(setup.net, *device, options);
    if (!request.weights.empty()) load_weights(*made, request.weights);
    require_trainable(*made, data, setup.train.batch);
  });
  Engine& engine = *made;
  if (ranks.distribution().shard_optimizer && !keeps_state(setup.update))
    note("headroom: this optimizer keeps no state: --shard-optimizer has nothing to share\n");
  if (ranks.several()) ranks.require_same("run", run_text(engine, data, setup.train, request));
  const Plan& plan = ready_to_train(engine, setup.train.batch).plan();
  if (common.explain) note(plan.explain());
  const auto checkpoints = prepare_checkpoints(request, ranks, engine, data, setup.train);
  // The ceilings are those of the machine, whoever measures them; the others wait at their first exchange.
  const Machine machine = ranks.first() ? common.machine(*device) : Machine{};
  const Prediction prediction = ranks.first() ? predict(plan, machine) : Prediction{};

  TrainResult result;
  {
    Watcher watcher(fmt::format("training {} on {}", setup.net.name, setup.data), setup.train.epochs,
                    request.log_every, setup.net.loss != kReconstruction);
    note_signals();
    setup.train.stop = [] { return noted_signal() != 0; };
    setup.train.settle_every = request.log_every;
    result = train(engine, data, setup.train, watcher);
  }
  std::optional<RanksReport> shared;
  if (ranks.several()) shared = report_ranks(engine, plan, result);
  if (!request.save.empty()) save_weights(engine, request.save);
  if (!request.save_onnx.empty()) save_onnx(engine, request.save_onnx);
  if (result.stopped) leave(request, result);
  if (!ranks.first()) return;
  const Finished finished{setup,
                          common.precision,
                          data,
                          engine,
                          plan,
                          machine,
                          prediction,
                          result,
                          shared ? &*shared : nullptr,
                          process_resources(),
                          std::chrono::duration<double>(Clock::now() - start).count()};
  if (!request.record.empty())
    write_file(request.record, json_text(to_json(RunRecord{command_line(), &engine, &plan, &machine,
                                                           &prediction, &result, setup.data, finished.wall_s,
                                                           finished.resources, finished.ranks})));
  std::optional<DeterministicOverhead> overhead;
  if (common.deterministic && engine.queues() && !ranks.several())
    overhead = deterministic_overhead(setup.net, *device, options, setup.train.batch);
  if (common.json) {
    Json json = result_json(finished);
    if (overhead)
      json["deterministic"] = {{"step_ms", spread_json(overhead->deterministic)},
                               {"plain_step_ms", spread_json(overhead->plain)},
                               {"times_slower", overhead->times()}};
    return print_json(json);
  }
  print_result(finished);
  if (overhead)
    print(fmt::format("bits       the same every run: a step takes {}, {} without: {:.2f} times as long\n",
                      human_seconds(overhead->deterministic.median), human_seconds(overhead->plain.median),
                      overhead->times()));
  if (demo) print(kNext);
}

}  // namespace headroom::cli
