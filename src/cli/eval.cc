#include "base/units.h"
#include "cli/run_setup.h"
#include "cli/verbs.h"

namespace headroom::cli {
namespace {

void eval(const RunRequest& request, const Common& common) {
  if (request.weights.empty())
    reject(Hint{"headroom train ... --save FILE makes one"}, "eval needs trained weights: --weights FILE");
  RunSetup setup = resolve(request, common);
  // Training images are not looked at, so glyphs need not be drawn; a test set cut from their tail needs
  // them.
  if (setup.data_options.validation_tail == 0) setup.data_options.train_size = 1;
  const auto device = common.open();
  Engine engine(setup.net, *device,
                {.precision = common.dtype(), .seed = common.seed, .choose = common.chooser()});
  const Plan& plan = engine.ready(Mode::eval, setup.train.batch).plan();
  load_weights(engine, request.weights);
  const Dataset data = load_dataset(setup.data, setup.data_options);
  if (common.explain) note(plan.explain());
  const EvalResult result = evaluate(engine, data.test, setup.train.preprocess, setup.train.batch);
  const double rate = double(result.images) / result.seconds;
  if (common.json)
    return print_json({{"model", setup.net.name},
                       {"data", setup.data},
                       {"accuracy", {{"test", result.accuracy}}},
                       {"loss", result.loss},
                       {"images", result.images},
                       {"images_per_s", rate},
                       {"seconds", result.seconds}});
  print(fmt::format("{} on {}: accuracy {:.4f}, loss {:.4f}, {} images in {} ({} images/s)\n", setup.net.name,
                    setup.data, result.accuracy, result.loss, with_commas(result.images),
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
  verb.example("headroom eval lenet5 --weights lenet5.safetensors --data mnist");
  verb.runs([state] { eval(state->request, state->common); });
}

}  // namespace headroom::cli
