#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "bench/inference.h"
#include "cli/compare_kernels.h"
#include "cli/layer_waits.h"
#include "cli/profile_run.h"
#include "cli/run_setup.h"
#include "cli/saving.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"
#include "models/onnx/imported.h"
#include "predict/predict.h"
#include "report/layers.h"
#include "report/metrics.h"
#include "timing/step_model.h"
#include "train/program.h"

namespace headroom::cli {
namespace {

// Why the network has no accuracy or loss on labelled data; empty if it has. Such a network can still be
// timed.
std::string why_no_task(const Net& net, std::int64_t batch) {
  try {
    make_program(net, {.mode = Mode::eval, .batch = batch, .fusion = Fusion::none});
    return "";
  } catch (const Error& error) {
    if (!net.imported) throw;
    require_complete(make_forward(net, batch, DType::f32), net);
    return error.what();
  }
}

// The forward pass alone, for networks that are not classifiers.
void eval_forward(RunSetup& setup, const Common& common, const RunRequest& request, const std::string& why) {
  const auto device = common.open();
  const Dataset data = load_data(setup, true);
  const std::int64_t fixed = fixed_batch(setup.net);
  const std::int64_t batch = fixed > 0 ? fixed : std::min(setup.train.batch, data.test.count());
  Engine engine(setup.net, *device, common.engine_options(setup.kernels));
  if (!request.weights.empty()) load(engine, request.weights);
  Arena arena(*device);
  Engine::Ready ready =
      engine.make_ready(build_request(engine.options(), engine.target(), Mode::infer, batch), arena);
  if (common.explain) note(ready.explain());
  note(fmt::format("{}: its layers are timed, nothing is tested\n", with_options(why)));
  const EvalResult result = forward_over(engine, ready, data.test, setup.train.preprocess);
  const Machine machine = common.machine(*device);
  const Prediction prediction = predict(ready.plan(), machine, time_model_for(machine));
  const std::vector<LayerReading> layers = read_layers(ready.plan(), prediction, result.measurement);
  const double rate = double(result.images) / result.seconds;
  if (common.json) {
    print_json({{"model", setup.net.name},
                {"data", setup.data},
                {"tested", false},
                {"images", result.images},
                {"batch", batch},
                {"images_per_s", rate},
                {"seconds", result.seconds},
                {"layers", layers_json(layers)},
                {"device", device->capabilities().name},
                {"threads", device->capabilities().threads}});
  } else {
    print(fmt::format("{} on {}, batch {}, forward pass:\n\n", setup.net.name, setup.data, batch));
    print(layer_sheet(layers, prediction.has_times).text(common.tables.layers()));
    print(fmt::format("\n{} images in {} ({} images/s)\n", with_commas(result.images),
                      human_seconds(result.seconds), with_commas(std::llround(rate))));
  }
  if (!request.files.any()) return;
  RunRecord record = start_record("eval", command_line());
  record.machine = machine;
  record.model = recorded_model(engine);
  record.data = setup.data;
  record.wall_s = result.seconds, record.resources = process_resources();
  add_readings(record, ready.plan(), ready.passes, prediction, result.measurement,
               real_peak_bytes(engine, ready.plan(), record.resources));
  write_files(request.files, {.record = record});
}

struct Evaluated {
  const RunSetup& setup;
  const Dataset& data;
  const Capabilities& device;
  const EvalResult& result;
  const std::vector<LayerReading>& layers;
  bool has_times;
};

void print_evaluated(const Evaluated& e, const Common& common) {
  const auto& [setup, data, device, result, layers, has_times] = e;
  const bool classifier = result.metrics.images() > 0;
  const double rate = double(result.images) / result.seconds;
  const std::int64_t each = data.test.text.empty() ? 1 : data.test.labels_each();
  if (common.json) {
    Json json = {{"model", setup.net.name},    {"data", setup.data},
                 {"loss", result.loss},        {"images", result.images},
                 {"batch", setup.train.batch}, {"images_per_s", rate},
                 {"seconds", result.seconds},  {"layers", layers_json(layers)},
                 {"device", device.name},      {"threads", device.threads}};
    if (each > 1) {
      json["accuracy"] = {{"test", result.accuracy}};
      json["tokens_per_s"] = rate * double(each);
      json["text"] = {{"perplexity", std::exp(result.loss)}, {"bits_per_byte", result.loss / std::log(2.0)}};
    }
    if (classifier) {
      json["accuracy"] = {{"test", result.accuracy}};
      json["metrics"] = metrics_json(result.metrics, data.class_names);
    }
    if (const Json scores = target_scores_json(result); !scores.is_null()) json["metrics"] = scores;
    return print_json(json);
  }
  print(fmt::format("{} on {}, batch {}, forward pass:\n\n", setup.net.name, setup.data, setup.train.batch));
  print(layer_sheet(layers, has_times).text(common.tables.layers()) + "\n");
  if (const std::string scores = target_scores_text(result); !scores.empty()) print(scores + ", ");
  if (classifier)
    print(metrics_sheet(result.metrics, data.class_names).text(common.tables.view()) +
          fmt::format("\naccuracy {:.4f}, top {} {:.4f}, ", result.accuracy, result.metrics.top(),
                      result.metrics.top_accuracy()));
  if (each > 1) {
    print(fmt::format("accuracy {:.4f}, loss {:.4f}, {:.4f} bits per byte, perplexity {:.3f}; ",
                      result.accuracy, result.loss, result.loss / std::log(2.0), std::exp(result.loss)));
    return print(fmt::format("{} tokens in {} ({} tokens/s)\n", with_commas(result.images * each),
                             human_seconds(result.seconds), with_commas(std::llround(rate * double(each)))));
  }
  print(fmt::format("loss {:.4f}; {} images in {} ({} images/s)\n", result.loss, with_commas(result.images),
                    human_seconds(result.seconds), with_commas(std::llround(rate))));
}

void eval(const RunRequest& request, const Common& common, const ProfileOptions& profiling) {
  std::optional<ProfileRun> profile;
  if (!profiling.out.empty()) {
    require_profile(profiling);
    profile.emplace(profiling);
  }
  if (request.weights.empty() && !is_onnx_name(request.model))
    reject(Hint{"headroom train ... --save FILE makes one"}, "eval needs trained weights: --weights FILE");
  RunSetup setup = resolve(request, common);
  if (const std::string why = why_no_task(setup.net, setup.train.batch); !why.empty()) {
    if (profile) reject(Hint{"headroom profile MODEL -o DIR does that"}, "{}", why);
    return eval_forward(setup, common, request, why);
  }
  const auto device = common.open();
  const Dataset data = load_data(setup, true);
  if (fixed_batch(setup.net) == 0)
    setup.train.batch = std::min(setup.train.batch, std::max<std::int64_t>(1, data.test.count()));
  Engine engine(setup.net, *device, common.engine_options(setup.kernels));
  const Engine::Ready& ready = engine.ready(Mode::eval, setup.train.batch);
  const Plan& plan = ready.plan();
  if (!request.weights.empty()) load(engine, request.weights);
  if (common.explain) note(ready.explain());
  StepWatch* const watch = profile ? &profile->watch(*device, plan) : nullptr;
  const EvalResult result =
      evaluate(engine, data.test, setup.train.preprocess, setup.train.batch, {}, {}, watch);
  const Machine machine = common.machine(*device);
  const Prediction prediction = predict(plan, machine, time_model_for(machine));
  const std::vector<LayerReading> layers = read_layers(plan, prediction, result.measurement);
  print_evaluated({setup, data, device->capabilities(), result, layers, prediction.has_times}, common);
  flush_output();  // the result is out before a file can fail
  if (!request.files.any() && !profile) return;
  RunRecord record = start_record("eval", command_line());
  record.machine = machine;
  record.model = recorded_model(engine);
  record.data = setup.data;
  record.wall_s = result.seconds, record.resources = process_resources();
  add_readings(record, plan, ready.passes, prediction, result.measurement,
               real_peak_bytes(engine, plan, record.resources));
  Saving saving;
  const RunProfile all = profile ? profile->finish(record, plan) : RunProfile{.record = record};
  saving.attempt([&] { write_files(request.files, all); });
  if (profile)
    saving.attempt([&] {
      profile->write();
      profile->say_where();
    });
  saving.finish();
}

void require_alone(const LayerWaitsRequest& sync, const ProfileOptions& profile) {
  if (sync.on || !profile.out.empty())
    reject(Hint{"give only one of the two"}, "--compare-kernels and {} exclude each other",
           sync.on ? "--sync-layers" : "--profile");
}

}  // namespace

void add_eval(Command app) {
  struct State {
    RunRequest request;
    Common common;
    LayerWaitsRequest sync;
    CompareKernelsRequest compare;
    ProfileOptions profile;
  };
  auto state = std::make_shared<State>();
  Command verb = app.verb("eval", "test a trained network, or time its layers");
  verb.option("model", state->request.model, "zoo name with options, a net.json or an ONNX file");
  verb.option("--recipe", state->request.recipe, "data, pixels and split of a recipe");
  verb.option("--hidden", state->request.hidden, "hidden units of mlp");
  add_data_options(verb, state->request);
  add_run_options(verb, state->common);
  add_layer_table_options(verb, state->common.tables);
  add_layer_waits_options(verb, state->sync);
  add_compare_kernels_options(verb, state->compare);
  add_record_options(verb, state->request.files);
  add_profile_folder(verb, state->profile);
  verb.example("headroom eval ece408:term=2019sp --weights ece408.params --data fashion-mnist");
  verb.example("headroom eval lenet5 --weights lenet5.safetensors --data mnist");
  verb.example("headroom eval resnet:depth=50 --sync-layers --batch 64 --device cuda");
  verb.example(
      "headroom eval ece408:term=2019sp --weights ece408.params --data fashion-mnist --compare-kernels");
  verb.runs([state] {
    if (state->compare.on) {
      require_alone(state->sync, state->profile);
      return compare_kernels(state->request, state->common, state->compare);
    }
    if (!state->compare.images.empty() || state->compare.csv)
      reject("{} needs --compare-kernels", state->compare.csv ? "--csv" : "--images");
    if (state->sync.on) return time_layer_waits(state->request, state->common, state->sync);
    if (state->sync.random) reject("--random needs --sync-layers: random images have no labels to test");
    require_tables(state->common.tables, empty_layer_sheet(false));
    eval(state->request, state->common, state->profile);
  });
}

}  // namespace headroom::cli
