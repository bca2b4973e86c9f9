#include "report/layers.h"
#include "base/json.h"

#include <algorithm>
#include <map>

namespace headroom {
namespace {

// Rows in network order, which is the order of first mention.
LayerReading& row_of(std::vector<LayerReading>& rows, const std::string& layer) {
  const auto it =
      std::find_if(rows.begin(), rows.end(), [&](const LayerReading& r) { return r.layer == layer; });
  if (it != rows.end()) return *it;
  rows.push_back({.layer = layer});
  return rows.back();
}

void charge(LayerReading& row, const Step& step, const Charge& c, const StepPrediction& p, double seconds) {
  row.flops += c.share * step.cost.flops();
  row.floor_s += c.share * p.floor_s;
  row.predicted_s += c.share * p.predicted_s;
  row.low_s += c.share * p.low_s, row.high_s += c.share * p.high_s;
  (c.phase == Phase::forward    ? row.predicted_forward_s
   : c.phase == Phase::backward ? row.predicted_backward_s
                                : row.predicted_update_s) += c.share * p.predicted_s;
  if (c.phase == Phase::forward) row.forward_flops += c.share * step.cost.flops();
  (c.phase == Phase::forward    ? row.forward_s
   : c.phase == Phase::backward ? row.backward_s
                                : row.update_s) += c.share * seconds;
}

// The output of a layer for one image. A fused classifier head computes its last layer on the way to the loss
// and stores no output; the number of biases gives its size.
std::string output_of(const Plan& plan, const Step& step, const std::string& layer) {
  const std::string whole = step.problem.outputs[0].shape.without_first().str();
  const std::vector<int> inner = schema_of(step.problem.op).inner_outputs;
  if (inner.empty()) return whole;
  const std::string& own = plan.graph.node(step.node).layer;
  if (layer == own) return whole;
  std::size_t before = 0;  // other layers that are charged first
  for (const Charge& c : step.charges) {
    if (c.layer == layer) break;
    before += c.phase == Phase::forward && c.layer != own;
  }
  return step.problem.inputs.at(static_cast<std::size_t>(inner.at(std::min(before, inner.size() - 1))))
      .shape.str();
}

}  // namespace

std::vector<LayerReading> read_layers(const Plan& plan, const Prediction& prediction,
                                      const Measurement& measurement) {
  std::vector<LayerReading> rows;
  std::map<std::string, std::map<std::string, double>> bounds;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (const Charge& c : step.charges) {
      LayerReading& row = row_of(rows, c.layer);
      charge(row, step, c, prediction.steps[s], measurement.median_s(s));
      bounds[c.layer][prediction.steps[s].bound] += c.share * prediction.steps[s].floor_s;
      if (step.phase == Phase::forward && c.phase == Phase::forward)
        row.output = output_of(plan, step, c.layer);
    }
  }
  for (LayerReading& row : rows) {
    double largest = -1;
    for (const auto& [bound, seconds] : bounds[row.layer])
      if (seconds > largest) largest = seconds, row.bound = bound;
  }
  for (ValueId id : plan.graph.with_role(Role::parameter)) {
    const Value& value = plan.graph.value(id);
    if (value.producer == kNone) row_of(rows, value.layer).parameters += value.type.shape.numel();
  }
  return rows;
}

namespace {

// Empty if a reading is missing. Tables show the update as part of the backward pass.
std::vector<Cell> cells_of(const LayerReading& l) {
  const double measured = l.measured_s();
  const auto if_measured = [&](double value) { return measured > 0 ? Cell(value) : Cell(); };
  return {l.layer,
          l.output,
          l.parameters,
          l.flops / 1e6,
          l.forward_flops,
          l.flops,
          if_measured(l.forward_s * 1e3),
          if_measured(l.backward_s * 1e3),
          if_measured(l.update_s * 1e3),
          if_measured((l.backward_s + l.update_s) * 1e3),
          if_measured(l.flops / measured / 1e9),
          l.floor_s * 1e3,
          known(l.predicted_s * 1e3),
          l.high_s > 0 ? known(l.low_s * 1e3) : Cell(),
          l.high_s > 0 ? known(l.high_s * 1e3) : Cell(),
          known(l.predicted_forward_s * 1e3),
          known(l.predicted_backward_s * 1e3),
          known(l.predicted_update_s * 1e3),
          l.predicted_s > 0 ? if_measured(100 * (l.predicted_s / measured - 1)) : Cell(),
          if_measured(100 * l.floor_s / measured),
          l.bound};
}

}  // namespace

Sheet layer_sheet(const std::vector<LayerReading>& layers, bool has_times) {
  using enum Column::Format;
  const bool measured = std::ranges::any_of(layers, [](const auto& l) { return l.measured_s() > 0; });
  const bool backward =
      std::ranges::any_of(layers, [](const auto& l) { return l.backward_s + l.update_s > 0; });
  const auto shown = [](bool on, const char* title) { return std::string(on ? title : ""); };
  Sheet sheet(
      "layers",
      {{.key = "layer", .title = "layer"},
       {.key = "output", .title = "output", .left = true, .priority = 2},
       {.key = "parameters", .title = "parameters", .format = commas, .dash_zero = true, .priority = 4},
       {.key = "mflop", .title = "MFLOP", .unit = "MFLOP", .priority = 5},
       {.key = "forward_flops", .title = "", .unit = "FLOP"},
       {.key = "flops", .title = "", .unit = "FLOP"},
       {.key = "forward_ms", .title = shown(measured, "forward ms"), .unit = "ms", .dash_zero = true},
       {.key = "backward_ms", .title = "", .unit = "ms"},
       {.key = "update_ms", .title = "", .unit = "ms"},
       {.key = "backward_and_update_ms",
        .title = shown(backward, "backward ms"),
        .unit = "ms",
        .dash_zero = true},
       {.key = "gflops_per_s",
        .title = shown(measured, "GFLOP/s"),
        .unit = "GFLOP/s",
        .format = tenths,
        .priority = 3},
       {.key = "floor_ms", .title = "floor ms", .unit = "ms", .dash_zero = true},
       {.key = "predicted_ms", .title = shown(has_times, "predicted ms"), .unit = "ms", .priority = 3},
       {.key = "low_ms", .title = shown(has_times, "low"), .unit = "ms", .priority = 6},
       {.key = "high_ms", .title = shown(has_times, "high"), .unit = "ms", .priority = 6},
       {.key = "predicted_forward_ms", .title = "", .unit = "ms"},
       {.key = "predicted_backward_ms", .title = "", .unit = "ms"},
       {.key = "predicted_update_ms", .title = "", .unit = "ms"},
       {.key = "prediction_error_percent",
        .title = shown(measured && has_times, "off %"),
        .unit = "%",
        .format = tenths,
        .priority = 6},
       {.key = "percent_of_roofline",
        .title = shown(measured, "% of roofline"),
        .unit = "%",
        .format = tenths},
       {.key = "bound", .title = "bound by", .priority = 1}});
  LayerReading total{.layer = "total"};  // without an interval: those of layers do not add up
  for (const LayerReading& l : layers) {
    sheet.row(cells_of(l));
    total.parameters += l.parameters;
    total.forward_flops += l.forward_flops, total.flops += l.flops;
    total.forward_s += l.forward_s, total.backward_s += l.backward_s, total.update_s += l.update_s;
    total.floor_s += l.floor_s, total.predicted_s += l.predicted_s;
    total.predicted_forward_s += l.predicted_forward_s, total.predicted_backward_s += l.predicted_backward_s;
    total.predicted_update_s += l.predicted_update_s;
  }
  sheet.total(cells_of(total));
  return sheet;
}

Sheet empty_layer_sheet(bool trains) {
  return layer_sheet({{.layer = "", .forward_s = 1, .backward_s = trains ? 1.0 : 0.0}}, true);
}

Json layers_json(const std::vector<LayerReading>& layers) { return layer_sheet(layers, true).objects(); }

}  // namespace headroom
