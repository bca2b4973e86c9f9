#include "headroom/predict.h"

#include "api/layer_times.h"
#include "base/text.h"
#include "train/forecast.h"
#include "train/settings.h"

namespace headroom {
namespace {

Mode mode_named(const std::string& name) {
  if (name == "train") return Mode::train;
  if (name == "eval") return Mode::eval;
  reject(nearest(name, std::vector<std::string>{"train", "eval"}), "unknown mode '{}'", name);
}

}  // namespace

CostPrediction predict(const Net& net, const std::string& machine, const PredictSettings& settings) {
  if (settings.batch < 1) reject("batch is {}; it must be at least 1", settings.batch);
  require_threads(settings.threads);
  const Mode mode = mode_named(settings.mode);
  const Precision precision = parse_precision(settings.precision);
  const Machine ceilings = machine_named(machine, settings.threads);
  require_machine_precision(ceilings, precision, settings.precision);
  const EngineOptions options{
      .precision = precision.dtype, .tf32 = precision.tf32, .update = parse_update(settings.optimizer)};
  const Forecast reading = forecast(net, ceilings, options, mode, settings.batch, settings.threads);
  const Plan& plan = reading.built->plan;
  const Prediction& prediction = reading.prediction;
  return {.machine = ceilings.name,
          .batch = settings.batch,
          .layers = layer_times(read_layers(plan, prediction)),
          .floor_s = prediction.floor_s,
          .predicted_s = prediction.has_times ? prediction.predicted_s : 0};
}

std::string CostPrediction::text() const { return layer_times_table(layers); }

std::vector<std::string> machines() { return machine_names(); }

}  // namespace headroom
