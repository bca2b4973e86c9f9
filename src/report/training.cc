#include "report/training.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/memory_need.h"
#include "report/metrics.h"

namespace headroom {
namespace {

// For text: converts a loss per byte in natural logarithms.
Json text_json(double loss) {
  return {{"perplexity", std::exp(loss)}, {"bits_per_byte", loss / std::log(2.0)}};
}

// The last complete epoch, or the part of one after it that was tested. If there is neither, the part of the
// first one that ran, without a test.
EpochResult last_epoch(const FinishedTraining& f) {
  const RunState& state = f.result.state;
  const Tally& tally = state.tally;
  const auto images = static_cast<double>(tally.images);
  if (const auto& tests = f.result.evaluations;
      state.batch > 0 && !tests.empty() && tests.back().step > state.steps - state.batch)
    return {.loss = tally.loss / images,
            .train_accuracy = tally.correct / images,
            .test_accuracy = tests.back().accuracy,
            .test_loss = tests.back().loss};
  if (!state.epochs.empty()) return state.epochs.back();
  return {.loss = tally.loss / images,
          .train_accuracy = tally.correct / images,
          .test_accuracy = std::nan(""),
          .test_loss = std::nan("")};
}

Json evaluations_json(const FinishedTraining& f) {
  Json list = Json::array();
  for (const TestPoint& e : f.result.evaluations) {
    Json json = {
        {"step", e.step}, {"train_s", e.train_seconds}, {"eval_s", e.eval_seconds}, {"loss", e.loss}};
    if (f.classifier()) json["accuracy"] = e.accuracy;
    list.push_back(json);
  }
  return list;
}

}  // namespace

double FinishedTraining::images_per_s() const {
  return result.train_seconds > 0 ? double(result.images) / result.train_seconds : 0;
}

Json training_json(const FinishedTraining& f) {
  const EpochResult last = last_epoch(f);
  Json epochs = Json::array();
  for (const EpochResult& e : f.result.state.epochs) epochs.push_back(epoch_json(e, f.classifier()));
  Json json = {{"model", f.engine.net().name},
               {"data", f.data_name},
               {"interrupted", f.result.stopped},
               {"loss", last.loss},
               {"test_loss", last.test_loss},
               {"first_loss", f.result.state.first_loss},
               {"last_loss", f.result.state.last_loss},
               {"epochs", epochs},
               {"evaluations", evaluations_json(f)},
               {"train_s", f.result.train_seconds},
               {"eval_s", f.result.eval_seconds},
               {"steps", f.result.state.steps},
               {"steps_per_epoch", (f.data.train.count() + f.options.batch - 1) / f.options.batch},
               {"step_ms", spread_json(spread_of(f.result.step_seconds))},
               {"images_per_s", f.images_per_s()},
               {"device", f.plan.binding.target.device.name},
               {"precision", f.precision},
               {"threads", f.plan.binding.target.device.threads},
               {"feed", f.result.feed},
               {"batch", f.options.batch},
               {"lr", f.options.lr},
               {"optimizer", f.optimizer},
               {"parameters", f.engine.parameter_count()},
               {"floor_ms", f.prediction.floor_s * 1e3},
               {"predicted_ms", f.prediction.predicted_s * 1e3},
               {"layers", layers_json(read_layers(f.plan, f.prediction, f.result.measurement))},
               {"wall_s", f.wall_s},
               {"user_s", f.resources.user_s},
               {"system_s", f.resources.system_s},
               {"peak_rss_bytes", f.resources.peak_rss_bytes},
               {"memory",
                {{"predicted_bytes", std::llround(memory_need(f.plan).total())},
                 {"allocated_bytes", f.engine.storage().bytes() + f.engine.arena_bytes()}}}};
  if (f.classifier()) json["accuracy"] = {{"test", last.test_accuracy}, {"train", last.train_accuracy}};
  if (f.tokens_each() > 0) {
    json["tokens_per_s"] = f.images_per_s() * double(f.tokens_each());
    json["text"] = {{"train", text_json(last.loss)}, {"test", text_json(last.test_loss)}};
  }
  if (f.result.last_eval.metrics.images() > 0)
    json["metrics"] = metrics_json(f.result.last_eval.metrics, f.data.class_names);
  if (const Json scores = target_scores_json(f.result.last_eval); !scores.is_null()) json["metrics"] = scores;
  if (f.ranks != nullptr) json["ranks"] = to_json(*f.ranks);
  if (f.options.accumulate > 1) {
    json["batch"] = f.options.batch / f.options.accumulate;
    json["accumulate"] = f.options.accumulate;
  }
  if (!f.result.diverged.empty()) json["diverged"] = f.result.diverged;
  if (f.options.target > 0) json["target_reached"] = f.result.target_reached;
  if (!f.published.is_null()) json["published"] = f.published;
  return json;
}

namespace {

// Both readings, layer by layer.
std::string layers_text(const FinishedTraining& f) {
  std::string text;
  const Capabilities& device = f.plan.binding.target.device;
  const bool gpu = device.kind == DeviceKind::cuda;
  const std::string how = gpu ? "images " + f.result.feed : counted(device.threads, "thread");
  text += fmt::format("\n{} on {}, batch {}, {}, {} ({}), one training step{}:\n\n", f.engine.net().name,
                      f.data_name, f.options.batch / f.options.accumulate, f.precision, device.name, how,
                      f.ranks ? fmt::format(" of rank 0 of {}", f.ranks->distribution.ranks()) : "");
  text += layer_sheet(read_layers(f.plan, f.prediction, f.result.measurement), f.prediction.has_times)
              .text(f.view);
  text += "\n" + paragraph(fmt::format("MFLOP: multiply-add = 2, forward and backward. Backward includes the "
                                       "update. Floor: the least time on this machine's measured ceilings. "
                                       "Times are medians{}.",
                                       gpu ? ", kernel by kernel, by the GPU's own clock; the speed below is "
                                             "for one launch per step"
                                           : ""),
                           f.view);
  return text + "\n";
}

// The accuracy and loss reached.
std::string success_text(const FinishedTraining& f) {
  const EpochResult last = last_epoch(f);
  if (std::isnan(last.test_loss))
    return fmt::format("loss       {:.4f} so far, {:.5f} first step; not tested: no epoch was completed\n",
                       last.loss, f.result.state.first_loss);
  std::string text;
  if (f.classifier())
    text += fmt::format("accuracy   {:.4f} test, {:.4f} training (as it ran)\n", last.test_accuracy,
                        last.train_accuracy);
  if (f.published.is_object())
    for (const auto& [name, value] : f.published.items())
      text += fmt::format("published  {} {}\n", name, value.get<double>());
  text += fmt::format("loss       {:.4f} last epoch, {:.5f} first step; {:.4f} test\n", last.loss,
                      f.result.state.first_loss, last.test_loss);
  if (const std::string scores = target_scores_text(f.result.last_eval); !scores.empty())
    text += fmt::format("test       {}\n", scores);
  if (f.tokens_each() > 0)
    text += fmt::format("text       {:.4f} bits per byte, perplexity {:.3f} training; {:.4f}, {:.3f} test\n",
                        last.loss / std::log(2.0), std::exp(last.loss), last.test_loss / std::log(2.0),
                        std::exp(last.test_loss));
  return text;
}

std::string step_text(const Spread& step) {
  if (step.samples == 0) return "too few steps to time one";
  if (step.samples == 1) return fmt::format("step {}, 1 sample", human_seconds(step.median));
  return fmt::format("step {} median, {} to {} (10 to 90 %), {}", human_seconds(step.median),
                     human_seconds(step.p10), human_seconds(step.p90), counted(step.samples, "sample"));
}

// Weights and scratch memory belong to the device; the peak is that of the process on the host.
std::string memory_text(const FinishedTraining& f) {
  const bool gpu = f.plan.binding.target.device.kind == DeviceKind::cuda;
  return fmt::format("memory     {}{} at its peak; {}weights {}, scratch {}\n", gpu ? "host " : "",
                     human_bytes(double(f.resources.peak_rss_bytes)), gpu ? "GPU " : "",
                     human_bytes(double(f.engine.storage().bytes())),
                     human_bytes(double(f.engine.arena_bytes())));
}

}  // namespace

std::string training_text(const FinishedTraining& f) {
  std::string text = layers_text(f);
  if (f.result.stopped)
    text += fmt::format("interrupted after step {}, in epoch {} of {}; the numbers are of what ran\n",
                        with_commas(f.result.state.steps), f.result.state.epoch + 1, f.options.epochs);
  text += success_text(f);
  const Spread step = spread_of(f.result.step_seconds);
  const std::string unit = f.tokens_each() > 0 ? "tokens" : "images";
  const double rate = f.images_per_s() * double(std::max<std::int64_t>(1, f.tokens_each()));
  text += fmt::format("speed      {} {}/s; {}\n", with_commas(std::llround(rate)), unit, step_text(step));
  if (step.samples > 0 && step.median > 0)
    text += fmt::format("headroom   a step could take {}: {:.1f} times faster\n",
                        human_seconds(f.prediction.floor_s), step.median / f.prediction.floor_s);
  if (f.ranks != nullptr) text += ranks_text(*f.ranks, {.width = f.view.width, .remedy = f.view.remedy});
  text += fmt::format("time       {} wall, {} user, {} system\n", human_seconds(f.wall_s),
                      human_seconds(f.resources.user_s), human_seconds(f.resources.system_s));
  text += memory_text(f);
  return text;
}

RunRecord training_record(const FinishedTraining& f, std::vector<std::string> command) {
  RunRecord record = start_record("train", std::move(command));
  record.machine = f.machine;
  record.model = recorded_model(f.engine);
  record.data = f.data_name;
  add_readings(record, f.plan, f.passes, f.prediction, f.result.measurement,
               real_peak_bytes(f.engine, f.plan, f.resources));
  record.wall_s = f.wall_s, record.resources = f.resources;
  record.training = RecordedTraining{.images_per_s = f.images_per_s(),
                                     .train_s = f.result.train_seconds,
                                     .eval_s = f.result.eval_seconds,
                                     .classifier = f.classifier(),
                                     .diverged = f.result.diverged,
                                     .interrupted = f.result.stopped,
                                     .epochs = f.result.state.epochs};
  if (f.ranks != nullptr) record.ranks = to_json(*f.ranks);
  return record;
}

}  // namespace headroom
