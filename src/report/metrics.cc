#include "report/metrics.h"

#include "base/json.h"
#include "base/units.h"

namespace headroom {
namespace {

std::string name_of_class(const std::vector<std::string>& names, std::int64_t label) {
  const auto i = static_cast<std::size_t>(label);
  return i < names.size() ? names[i] : std::to_string(label);
}

}  // namespace

Json metrics_json(const Metrics& m, const std::vector<std::string>& class_names) {
  Json classes = Json::array(), confusion = Json::array();
  for (std::int64_t truth = 0; truth < m.classes(); ++truth) {
    classes.push_back({{"class", name_of_class(class_names, truth)},
                       {"images", m.images_of(truth)},
                       {"precision", m.precision(truth)},
                       {"recall", m.recall(truth)}});
    Json row = Json::array();
    for (std::int64_t said = 0; said < m.classes(); ++said) row.push_back(m.confused(truth, said));
    confusion.push_back(row);
  }
  return {{fmt::format("top_{}", m.top()), m.top_accuracy()},
          {"log_loss", m.log_loss()},
          {"classes", classes},
          {"confusion", confusion}};
}

Sheet metrics_sheet(const Metrics& m, const std::vector<std::string>& class_names) {
  using enum Column::Format;
  constexpr std::int64_t kWidest = 12;  // max classes whose matrix fits a screen
  const bool matrix = m.classes() <= kWidest;
  std::vector<Column> columns = {{.key = "class", .title = "class"},
                                 {.key = "images", .title = "images", .format = commas},
                                 {.key = "precision", .title = "precision", .format = ten_thousandths},
                                 {.key = "recall", .title = "recall", .format = ten_thousandths}};
  if (matrix)
    for (std::int64_t said = 0; said < m.classes(); ++said)
      columns.push_back({.key = fmt::format("taken_for_{}", said),
                         .title = (said == 0 ? "taken for " : "") + std::to_string(said),
                         .dash_zero = true,
                         .priority = 1});
  Sheet sheet("classes", std::move(columns));
  for (std::int64_t truth = 0; truth < m.classes(); ++truth) {
    const std::string name = name_of_class(class_names, truth), number = std::to_string(truth);
    std::vector<Cell> cells = {name == number ? name : fmt::format("{} {}", number, name), m.images_of(truth),
                               m.precision(truth), m.recall(truth)};
    if (matrix)
      for (std::int64_t said = 0; said < m.classes(); ++said) cells.emplace_back(m.confused(truth, said));
    sheet.row(std::move(cells));
  }
  return sheet;
}

Json target_scores_json(const EvalResult& result) {
  if (result.regression)
    return {{"mean_absolute_error", result.regression->mean_absolute},
            {"mean_squared_error", result.regression->mean_squared},
            {"r2", result.regression->r2}};
  if (result.labels)
    return {{"micro_f1", result.labels->micro_f1},
            {"macro_f1", result.labels->macro_f1},
            {"mean_average_precision", result.labels->mean_average_precision},
            {"all_right", result.labels->all_right}};
  return nullptr;
}

std::string target_scores_text(const EvalResult& result) {
  if (result.regression)
    return fmt::format("mean absolute error {:.4g}, mean squared error {:.4g}, R² {:.4f}",
                       result.regression->mean_absolute, result.regression->mean_squared,
                       result.regression->r2);
  if (result.labels)
    return fmt::format("F1 {:.4f} (mean of labels {:.4f}), mean average precision {:.4f}, all right {:.4f}",
                       result.labels->micro_f1, result.labels->macro_f1,
                       result.labels->mean_average_precision, result.labels->all_right);
  return {};
}

}  // namespace headroom
