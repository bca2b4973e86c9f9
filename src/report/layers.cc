#include "report/layers.h"

#include <algorithm>
#include <map>

#include "base/table.h"

namespace headroom {
namespace {

// Rows in the order of the network, which is the order of first mention.
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
  if (c.phase == Phase::forward) row.forward_flops += c.share * step.cost.flops();
  (c.phase == Phase::forward    ? row.forward_s
   : c.phase == Phase::backward ? row.backward_s
                                : row.update_s) += c.share * seconds;
}

// What a layer hands on for each image. A classifier's end computes its last layer on the way to the loss,
// and keeps nothing of it: its biases are as many.
std::string output_of(const Plan& plan, const Step& step, const std::string& layer) {
  if (step.problem.op == "classifier_head" && layer != plan.graph.node(step.node).layer)
    return step.problem.inputs[2].shape.str();
  return step.problem.outputs[0].shape.without_first().str();
}

std::string ms(double seconds) { return seconds > 0 ? fixed_or_small(seconds * 1e3) : "-"; }
std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}", 100 * part / whole) : "-";
}

}  // namespace

std::vector<LayerReading> read_layers(const Plan& plan, const Prediction& prediction,
                                      const std::vector<Spread>& measured) {
  std::vector<LayerReading> rows;
  std::map<std::string, std::map<std::string, double>> bounds;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (const Charge& c : step.charges) {
      LayerReading& row = row_of(rows, c.layer);
      charge(row, step, c, prediction.steps[s], measured.empty() ? 0 : measured[s].median);
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

std::string layer_table(const std::vector<LayerReading>& layers, bool has_times) {
  const bool measured =
      std::any_of(layers.begin(), layers.end(), [](const auto& l) { return l.measured_s() > 0; });
  std::vector<std::string> header = {"layer", "output", "parameters", "MFLOP"};
  if (measured) header.insert(header.end(), {"forward ms", "backward ms", "GFLOP/s"});
  header.push_back("floor ms");
  if (has_times) header.push_back("predicted ms");
  if (measured) header.push_back("% of roofline");
  header.push_back("bound by");
  Table table(header);
  table.left(1);

  auto add = [&](const LayerReading& l) {
    std::vector<std::string> cells = {l.layer, l.output, l.parameters ? with_commas(l.parameters) : "-",
                                      fixed_or_small(l.flops / 1e6)};
    if (measured) {
      cells.insert(cells.end(), {ms(l.forward_s), ms(l.backward_s + l.update_s)});
      cells.push_back(l.measured_s() > 0 ? fmt::format("{:.1f}", l.flops / l.measured_s() / 1e9) : "-");
    }
    cells.push_back(ms(l.floor_s));
    if (has_times) cells.push_back(ms(l.predicted_s));
    if (measured) cells.push_back(percent(l.floor_s, l.measured_s()));
    cells.push_back(l.bound);
    table.row(cells);
  };
  LayerReading total{.layer = "total"};
  for (const LayerReading& l : layers) {
    add(l);
    total.parameters += l.parameters;
    total.forward_flops += l.forward_flops, total.flops += l.flops;
    total.forward_s += l.forward_s, total.backward_s += l.backward_s, total.update_s += l.update_s;
    total.floor_s += l.floor_s, total.predicted_s += l.predicted_s;
  }
  table.rule();
  add(total);
  return table.str();
}

Json layers_json(const std::vector<LayerReading>& layers) {
  Json list = Json::array();
  for (const LayerReading& l : layers) {
    Json item = {{"layer", l.layer},
                 {"output", l.output},
                 {"parameters", l.parameters},
                 {"forward_flops", l.forward_flops},
                 {"flops", l.flops},
                 {"floor_ms", l.floor_s * 1e3},
                 {"bound", l.bound}};
    if (l.predicted_s > 0) item["predicted_ms"] = l.predicted_s * 1e3;
    if (l.measured_s() > 0) {
      item["forward_ms"] = l.forward_s * 1e3;
      item["backward_ms"] = l.backward_s * 1e3;
      item["update_ms"] = l.update_s * 1e3;
      item["gflops_per_s"] = l.flops / l.measured_s() / 1e9;
      item["percent_of_roofline"] = 100 * l.floor_s / l.measured_s();
    }
    list.push_back(item);
  }
  return list;
}

}  // namespace headroom
