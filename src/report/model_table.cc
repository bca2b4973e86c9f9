#include "report/model_table.h"

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "ops/operator.h"

namespace headroom {
namespace {

LayerCost& row_of(std::vector<LayerCost>& rows, const std::string& layer) {
  const auto it = std::ranges::find(rows, layer, &LayerCost::layer);
  if (it != rows.end()) return *it;
  rows.push_back({.layer = layer});
  return rows.back();
}

KindCost& kind_of(std::vector<KindCost>& kinds, const std::string& op) {
  const auto it = std::ranges::find(kinds, op, &KindCost::kind);
  if (it != kinds.end()) return *it;
  kinds.push_back({.kind = op});
  return kinds.back();
}

std::string operators_of(const Node& node) {
  const std::string activation = node.attrs.text("activation");
  return activation.empty() ? node.op : node.op + "+" + activation;
}

void add(LayerCost& sum, const LayerCost& more) {
  sum.parameters += more.parameters;
  sum.macs += more.macs;
  sum.other += more.other;
  sum.bytes += more.bytes;
  sum.activations += more.activations;
}

// Everything alive at the same time: stored values, inputs, and the arena.
double peak_bytes(const Plan& plan) {
  double bytes = double(plan.arena_bytes);
  for (Role role : {Role::parameter, Role::state, Role::constant, Role::scalar, Role::input})
    for (ValueId id : plan.graph.with_role(role))
      if (plan.graph.value(id).producer == kNone) bytes += double(plan.graph.value(id).type.bytes());
  return bytes;
}

std::string count(double n) { return n > 0 ? with_commas(std::llround(n)) : "-"; }

std::vector<Cell> cells(const LayerCost& l, double all_flops) {
  return {l.layer,
          l.operators,
          l.output,
          l.parameters,
          l.macs,
          l.flops(),
          all_flops > 0 ? Cell(100 * l.flops() / all_flops) : Cell(),
          l.other,
          l.bytes,
          l.intensity(),
          l.activations};
}

}  // namespace

ModelCost model_cost(const Plan& forward, const Plan* training) {
  ModelCost cost;
  cost.batch = forward.binding.batch;
  for (const Node& node : forward.graph.nodes()) {
    const auto id = static_cast<NodeId>(&node - forward.graph.nodes().data());
    LayerCost& row = row_of(cost.layers, node.layer);
    const Problem problem = forward.graph.problem(id);
    row.output = problem.outputs[0].shape.without_first().str();
    if (schema_of(node.op).is_view) {
      if (row.operators.empty()) row.operators = node.op;
      continue;
    }
    if (row.operators == "reshape") row.operators.clear();  // a view of the input is not the layer's work
    row.operators += (row.operators.empty() ? "" : "+") + operators_of(node);
    const Cost c = schema_of(node.op).cost(problem);
    const bool product = schema_of(node.op).has_products && c.multiply_add > 0;
    (product ? row.macs : row.other) += product ? c.multiply_add / 2 : c.multiply_add;
    row.other += c.other + c.special;
    if (product) {
      KindCost& kind = kind_of(cost.kinds, node.op);
      ++kind.count, kind.macs += c.multiply_add / 2;
    }
    row.bytes += c.bytes();
    for (const TensorType& type : problem.outputs) row.activations += double(type.bytes());
  }
  for (ValueId id : forward.graph.with_role(Role::parameter)) {
    const Value& value = forward.graph.value(id);
    if (value.producer == kNone) row_of(cost.layers, value.layer).parameters += value.type.shape.numel();
  }
  cost.total.layer = "total";
  for (const LayerCost& row : cost.layers) add(cost.total, row);
  std::ranges::stable_sort(cost.kinds, std::ranges::greater{}, &KindCost::macs);
  cost.inference_bytes = peak_bytes(forward);
  if (training != nullptr) cost.training_bytes = peak_bytes(*training);
  return cost;
}

Sheet model_sheet(const ModelCost& cost, bool with_total) {
  using enum Column::Format;
  Sheet sheet("layers",
              {{.key = "layer", .title = "layer"},
               {.key = "operators", .title = "operators", .left = true, .priority = 3},
               {.key = "output", .title = "output", .left = true, .priority = 1},
               {.key = "parameters", .title = "parameters", .format = commas, .dash_zero = true},
               {.key = "macs", .title = "MACs", .format = commas, .dash_zero = true, .priority = 4},
               {.key = "flops", .title = "FLOPs", .unit = "FLOP", .format = commas, .dash_zero = true},
               {.key = "share_percent", .title = "share %", .unit = "%", .format = hundredths},
               {.key = "other", .title = "other", .format = commas, .dash_zero = true, .priority = 6},
               {.key = "bytes", .title = "bytes", .unit = "B", .format = bytes, .priority = 2},
               {.key = "flop_per_byte", .title = "FLOP/byte", .format = hundredths, .priority = 5},
               {.key = "activation_bytes",
                .title = "activations",
                .unit = "B",
                .format = bytes,
                .dash_zero = true,
                .priority = 5}});
  for (const LayerCost& row : cost.layers) sheet.row(cells(row, cost.total.flops()));
  if (with_total) sheet.total(cells(cost.total, cost.total.flops()));
  return sheet;
}

std::string kinds_line(const ModelCost& cost) {
  std::string line;
  for (const KindCost& kind : cost.kinds)
    line += fmt::format("{}{} {}, {} FLOPs, {:.2f} %", line.empty() ? "" : "; ", kind.count, kind.kind,
                        count(kind.flops()), 100 * kind.macs / cost.total.macs);
  return line;
}

Json model_json(const ModelCost& cost) {
  auto item = [](const LayerCost& l) -> Json {
    return {{"parameters", l.parameters},       {"macs", l.macs},   {"flops", l.flops()},
            {"other_operations", l.other},      {"bytes", l.bytes}, {"flop_per_byte", l.intensity()},
            {"activation_bytes", l.activations}};
  };
  Json layers = Json::array();
  for (const LayerCost& l : cost.layers) {
    Json row = item(l);
    row["layer"] = l.layer;
    row["operators"] = l.operators;
    row["output"] = l.output;
    row["share_percent"] = cost.total.macs > 0 ? 100 * l.macs / cost.total.macs : 0;
    layers.push_back(row);
  }
  Json json = item(cost.total);
  json["batch"] = cost.batch;
  json["layers"] = layers;
  json["kinds"] = Json::object();
  for (const KindCost& kind : cost.kinds)
    json["kinds"][kind.kind] = {{"count", kind.count},
                                {"macs", kind.macs},
                                {"flops", kind.flops()},
                                {"share_percent", 100 * kind.macs / cost.total.macs}};
  json["peak_bytes"] = {{"inference", cost.inference_bytes}};
  if (cost.training_gap.empty())
    json["peak_bytes"]["training"] = cost.training_bytes;
  else
    json["training_gap"] = cost.training_gap;
  return json;
}

}  // namespace headroom
