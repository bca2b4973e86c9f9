#include "headroom/predict.h"

#include "api/layer_times.h"
#include "api/settings.h"
#include "base/text.h"
#include "machine/roofline.h"
#include "predict/predict.h"
#include "train/planned.h"

namespace headroom {
namespace {

Mode mode_named(const std::string& name) {
  if (name == "train") return Mode::train;
  if (name == "eval") return Mode::eval;
  reject(nearest(name, std::vector<std::string>{"train", "eval"}), "unknown mode '{}'", name);
}

}  // namespace

CostPrediction predict(const Net& net, const std::string& machine, const PredictSettings& settings) {
  require_at_least_one(settings.batch, "batch");
  require_threads(settings.threads);
  const Mode mode = mode_named(settings.mode);
  const DType dtype = cpu_precision(settings.precision);
  constexpr double kQuickRoofline = 1.5;  // seconds
  const Machine ceilings =
      machine == "here" ? here_or_measure(settings.threads, kQuickRoofline) : find_machine(machine);
  const Plan plan = plan_on(ceilings, net,
                            {.mode = mode,
                             .batch = settings.batch,
                             .dtype = dtype,
                             .threads = settings.threads,
                             .update = parse_update(settings.optimizer)});
  const Prediction prediction = predict(plan, ceilings);
  return {.machine = ceilings.name,
          .batch = settings.batch,
          .layers = layer_times(read_layers(plan, prediction)),
          .floor_s = prediction.floor_s,
          .predicted_s = prediction.has_times ? prediction.predicted_s : 0};
}

std::string CostPrediction::text() const { return layer_times_table(layers); }

std::vector<std::string> machines() { return machine_names(); }

}  // namespace headroom
