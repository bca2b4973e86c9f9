#include "report/trainable.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "models/onnx/imported.h"
#include "models/onnx/learned.h"
#include "train/freeze.h"
#include "train/program.h"

namespace headroom {
namespace {

constexpr const char* kFrozen = "frozen";

bool gets_gradient(const Graph& graph, const std::string& name) {
  return graph.find(fmt::format("{}.gradient", name)) != kNone;
}

// Parameters and statistics. Without a training program nothing is known about gradients.
void add_stored(TrainableList& list, const Graph& graph, const Graph* training,
                const std::set<std::string>& frozen) {
  for (Role role : {Role::parameter, Role::state})
    for (ValueId id : graph.with_role(role)) {
      const Value& value = graph.value(id);
      if (value.producer != kNone) continue;
      TrainableRow row{value.name, value.type.shape, role == Role::parameter, false, {}};
      if (frozen.contains(value.name))
        row.reason = kFrozen;
      else if (role == Role::state)
        row.reason = "a running statistic";
      else if (training != nullptr && !gets_gradient(*training, value.name))
        row.reason = "no gradient reaches it";
      else
        row.trained = true;
      list.rows.push_back(std::move(row));
    }
}

std::string shape_text(const Shape& shape) { return shape.rank() == 0 ? "scalar" : shape.str(); }

}  // namespace

std::int64_t TrainableList::trained() const {
  std::int64_t sum = 0;
  for (const TrainableRow& row : rows) sum += row.trained ? row.shape.numel() : 0;
  return sum;
}

std::int64_t TrainableList::parameters() const {
  std::int64_t sum = 0;
  for (const TrainableRow& row : rows) sum += row.parameter ? row.shape.numel() : 0;
  return sum;
}

TrainableList trainable_list(const Net& net, std::int64_t batch, const std::vector<std::string>& freeze) {
  TrainableList list{.model = net.name, .rows = {}, .gap = {}};
  const Program forward = make_forward(net, batch, DType::f32, Fusion::none);
  const std::set<std::string> frozen = frozen_names(forward.graph, freeze);
  try {
    BuildRequest request{.mode = Mode::train, .batch = batch, .fusion = Fusion::none};
    request.update.freeze = freeze;
    const Program training = make_program(net, request);
    add_stored(list, forward.graph, &training.graph, frozen);
  } catch (const Error& error) {  // a detector, or an operator without a gradient
    list.rows.clear();
    list.gap = error.what();
    add_stored(list, forward.graph, nullptr, frozen);
  }
  if (!net.imported) return list;
  for (const auto& [name, verdict] : net.imported->tensors()) {
    if (verdict.learned || verdict.generated ||
        std::ranges::find(list.rows, name, &TrainableRow::name) != list.rows.end())
      continue;
    list.rows.push_back({name, verdict.type.shape, false, false, verdict.reason});
  }
  return list;
}

std::string trainable_text(const TrainableList& list, const TableView& view) {
  Sheet sheet("trainable", {{.key = "name", .title = "name"},
                            {.key = "shape", .title = "shape", .left = true, .priority = 1},
                            {.key = "parameters", .title = "parameters", .format = Column::Format::commas},
                            {.key = "trained", .title = "trained", .left = true, .wrap = true}});
  std::int64_t numbers = 0;
  for (const TrainableRow& row : list.rows) {
    // A file has hundreds of single numbers: factors, exponents, bounds.
    if (!row.parameter && row.shape.numel() == 1) {
      ++numbers;
      continue;
    }
    sheet.row({row.name, shape_text(row.shape), row.parameter ? Cell(row.shape.numel()) : Cell(),
               row.trained ? "yes" : "no: " + row.reason});
  }
  sheet.total({"total", "", list.parameters(), fmt::format("{} trained", with_commas(list.trained()))});
  std::string text = sheet.text(view);
  if (numbers > 0)
    text += fmt::format("\nNot listed: {} of formulas; the JSON form lists them.\n",
                        counted(numbers, "single number"));
  if (!list.gap.empty()) text += fmt::format("\nThis network cannot be trained here: {}\n", list.gap);
  return text;
}

Json trainable_json(const TrainableList& list) {
  Json tensors = Json::array();
  for (const TrainableRow& row : list.rows) {
    Json item = {{"name", row.name},
                 {"shape", row.shape.vector()},
                 {"elements", row.shape.numel()},
                 {"parameter", row.parameter},
                 {"trained", row.trained}};
    if (!row.trained) item["reason"] = row.reason;
    tensors.push_back(std::move(item));
  }
  Json json = {{"model", list.model},
               {"tensors", tensors},
               {"parameters", list.parameters()},
               {"trained", list.trained()}};
  if (!list.gap.empty()) json["training_gap"] = list.gap;
  return json;
}

}  // namespace headroom
