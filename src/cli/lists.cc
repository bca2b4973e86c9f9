// Lists, and the verb recipe, which has only a list.
#include "cli/lists.h"

#include "base/json.h"
#include "base/table.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "train/recipe.h"

namespace headroom::cli {
Command add_list(Command app, const std::string& name, const std::string& about,
                 const std::vector<std::string>& columns, Rows (*rows)()) {
  auto common = std::make_shared<Common>();
  Command verb = app.verb(name, about);
  Command list = verb.verb("list", "one line each");
  add_json(list, *common);
  verb.example("headroom " + name + " list");
  list.example("headroom " + name + " list");
  list.runs([common, name, columns, rows] {
    if (common->json) {
      Json all = Json::array();
      for (const auto& row : rows()) {
        Json item;
        for (std::size_t c = 0; c < columns.size(); ++c) item[columns[c]] = row[c];
        all.push_back(item);
      }
      return print_json({{name + "s", all}});
    }
    Table table(columns);
    for (std::size_t c = 1; c < columns.size(); ++c) table.left(c);
    for (const auto& row : rows()) table.row(row);
    print(table.str());
  });
  return verb;
}

namespace {

Rows recipe_rows() {
  Rows rows;
  for (const std::string& name : recipe_names()) {
    const Recipe r = find_recipe(name);
    std::string published;
    for (const auto& [what, value] : r.published)
      published += fmt::format("{}{} {}", published.empty() ? "" : ", ", what, value);
    rows.push_back({name, r.model, r.data, r.title, published});
  }
  return rows;
}

}  // namespace

void add_recipe(Command app) {
  add_list(app, "recipe", "published cases, each one command: train --recipe",
           {"recipe", "model", "data", "title", "published"}, recipe_rows);
}

}  // namespace headroom::cli
