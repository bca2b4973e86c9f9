#include <algorithm>

#include "base/units.h"
#include "cli/run_setup.h"
#include "cli/verbs.h"
#include "predict/predict.h"
#include "report/layers.h"
#include "report/metrics.h"
#include "train/weights.h"

namespace headroom::cli {
namespace {

void eval(const RunRequest& request, const Common& common) {
  if (request.weights.empty())
    reject(Hint{"headroom train ... --save FILE makes one"}, "eval needs trained weights: --weights FILE");
  RunSetup setup = resolve(request, common);
  const auto device = common.open();
  const Dataset data = load_data(setup, true);
  setup.train.batch = std::min(setup.train.batch, std::max<std::int64_t>(1, data.test.count()));
  Engine engine(setup.net, *device, common.engine_options(setup.kernels));
  const Plan& plan = engine.ready(Mode::eval, setup.train.batch).plan();
  load_weights(engine, request.weights);
  if (common.explain) note(plan.explain());
  const EvalResult result = evaluate(engine, data.test, setup.train.preprocess, setup.train.batch);
  const Prediction prediction = predict(plan, common.machine(*device));
  const std::vector<LayerReading> layers = read_layers(plan, prediction, result.plan_steps);
  const bool classifier = result.metrics.images() > 0;
  const double rate = double(result.images) / result.seconds;
  if (common.json) {
    Json json = {{"model", setup.net.name},
                 {"data", setup.data},
                 {"loss", result.loss},
                 {"images", result.images},
                 {"batch", setup.train.batch},
                 {"images_per_s", rate},
                 {"seconds", result.seconds},
                 {"layers", layers_json(layers)},
                 {"device", device->capabilities().name},
                 {"threads", device->capabilities().threads}};
    if (classifier) {
      json["accuracy"] = {{"test", result.accuracy}};
      json["metrics"] = metrics_json(result.metrics, data.class_names);
    }
    return print_json(json);
  }
  print(fmt::format("{} on {}, batch {}, forward pass:\n\n", setup.net.name, setup.data, setup.train.batch));
  print(layer_table(layers, prediction.has_times) + "\n");
  if (classifier)
    print(metrics_table(result.metrics, data.class_names) + fmt::format("\naccuracy {:.4f}, top {} {:.4f}, ",
                                                                        result.accuracy, result.metrics.top(),
                                                                        result.metrics.top_accuracy()));
  print(fmt::format("loss {:.4f}; {} images in {} ({} images/s)\n", result.loss, with_commas(result.images),
                    human_seconds(result.seconds), with_commas(std::llround(rate))));
}

}  // namespace

void add_eval(Command app) {
  struct State {
    RunRequest request;
    Common common;
  };
  auto state = std::make_shared<State>();
  Command verb = app.verb("eval", "test a trained network");
  verb.option("model", state->request.model, "zoo name with options, or a net.json");
  verb.option("--recipe", state->request.recipe, "data, pixels and split of a recipe");
  verb.option("--hidden", state->request.hidden, "hidden units of mlp");
  add_data_options(verb, state->request);
  add_run_options(verb, state->common);
  verb.example("headroom eval ece408:term=2019sp --weights ece408.params --data fashion-mnist");
  verb.example("headroom eval lenet5 --weights lenet5.safetensors --data mnist");
  verb.runs([state] { eval(state->request, state->common); });
}

}  // namespace headroom::cli
