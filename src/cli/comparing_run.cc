#include "cli/comparing_run.h"

#include "base/json.h"
#include "base/sheet.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "train/compare.h"

namespace headroom::cli {
namespace {

// "cpu", "cuda:1", "cpu/fp64": the request with another device, and another precision if one is named.
Common against(const Common& common, const std::string& text) {
  Common other = common;
  const std::size_t slash = text.find('/');
  other.device = text.substr(0, slash);
  if (slash != std::string::npos)
    other.precision = text.substr(slash + 1);
  else if (other.device == "cpu" && other.precision != "fp64")
    other.precision = "fp32";  // the nearest precision a CPU has
  return other;
}

std::string label(const Common& c) { return c.device + "/" + c.precision; }

Json to_json(const Divergence& d) {
  Json arrays = Json::object();
  for (const ArrayDistance& a : d.arrays)
    arrays[a.name] = {{"relative", a.relative}, {"relative_max", a.relative_max}};
  return {{"step", d.step}, {"loss", d.loss}, {"other_loss", d.other_loss}, {"arrays", arrays}};
}

Sheet arrays_sheet(const Divergence& last) {
  using enum Column::Format;
  Sheet sheet("weights", {{.key = "weights", .title = "weights"},
                          {.key = "relative", .title = "relative error", .format = scientific_hundredths},
                          {.key = "relative_max",
                           .title = "largest error over largest weight",
                           .format = scientific_hundredths}});
  for (const ArrayDistance& a : last.arrays) sheet.row({a.name, a.relative, a.relative_max});
  return sheet;
}

}  // namespace

void comparing_run(const RunRequest& request, const Common& common) {
  if (!request.checkpoint_dir.empty() || !request.resume.empty() || !request.save.empty() ||
      !request.tensorboard.empty())
    reject(Hint{"leave out --check-against to train and save"}, "a comparison saves nothing");
  if (request.accumulate.value_or(1) > 1)
    reject(Hint{"take --batch as large as all parts together"},
           "a comparison takes whole batches, not --accumulate");
  if (!(request.perturb >= 0 && request.perturb < 1))
    reject("--perturb is {}; it must lie in [0, 1)", request.perturb);
  RunSetup setup = resolve(request, common);
  const Common other = against(common, request.check_against);
  const Dataset data = load_data(setup, false);
  const auto device = common.open(), other_device = other.open();
  auto engine_on = [&](const Common& c, Device& d) {
    EngineOptions options = c.engine_options(setup.kernels);
    options.update = setup.update;
    options.label_smoothing = setup.label_smoothing;
    return std::make_unique<Engine>(setup.net, d, options);
  };
  const auto engine = engine_on(common, *device), reference = engine_on(other, *other_device);
  note_signals();
  setup.train.stop = [] { return noted_signal() != 0; };

  using enum Column::Format;
  Sheet sheet("steps", {{.key = "step", .title = "step"},
                        {.key = "loss", .title = "loss " + label(common), .format = millionths},
                        {.key = "other_loss", .title = "loss " + label(other), .format = millionths},
                        {.key = "worst",
                         .title = "largest relative error of a weight array",
                         .format = scientific_hundredths}});
  std::vector<Divergence> list;
  {
    Progress progress(fmt::format("training {} twice", setup.net.name));
    list = compare_training(
        *engine, *reference, data, setup.train,
        [&](const Divergence& d) {
          progress.line(fmt::format("step {}: {:.2e}", d.step, d.worst()));
          sheet.row({std::int64_t{d.step}, d.loss, d.other_loss, d.worst()});
        },
        request.perturb);
  }
  const double accuracy = evaluate(*engine, data.test, setup.train.preprocess, setup.train.batch).accuracy,
               other_accuracy =
                   evaluate(*reference, data.test, setup.train.preprocess, setup.train.batch).accuracy;
  if (common.json) {
    Json steps = Json::array();
    for (const Divergence& d : list) steps.push_back(to_json(d));
    return print_json({{"model", setup.net.name},
                       {"device", label(common)},
                       {"other", label(other)},
                       {"accuracy", {{"test", accuracy}, {"other_test", other_accuracy}}},
                       {"divergence", steps}});
  }
  print(sheet.text(common.tables.view()));
  if (!list.empty()) print("\n" + arrays_sheet(list.back()).text(common.tables.view()));
  print(fmt::format("\naccuracy {:.4f} by {}, {:.4f} by {}\n", accuracy, label(common), other_accuracy,
                    label(other)));
}

}  // namespace headroom::cli
