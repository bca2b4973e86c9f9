// Lists, and the verb recipe.
#include "cli/lists.h"

#include "base/json.h"
#include "base/sheet.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "train/recipe.h"

namespace headroom::cli {
Command add_list(Command app, const std::string& name, const std::string& about,
                 const std::vector<Column>& columns, Rows (*rows)()) {
  auto common = std::make_shared<Common>();
  Command verb = app.verb(name, about);
  Command list = verb.verb("list", "one line each");
  add_json(list, *common);
  add_table_options(list, common->tables);
  verb.example("headroom " + name + " list");
  list.example("headroom " + name + " list");
  list.runs([common, name, columns, rows] {
    if (common->json) {
      Json all = Json::array();
      for (const auto& row : rows()) {
        Json item;
        for (std::size_t c = 0; c < columns.size(); ++c) item[columns[c].key] = row[c];
        all.push_back(item);
      }
      return print_json({{name + "s", all}});
    }
    Sheet sheet(name + "s", columns);
    for (const auto& row : rows()) sheet.row({row.begin(), row.end()});
    print(sheet.text(common->tables.view(true)));
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
  Command verb =
      add_list(app, "recipe", "published cases and your own, each one command",
               {{.key = "recipe", .title = "recipe"},
                {.key = "model", .title = "model", .left = true, .wrap = true},
                {.key = "data", .title = "data", .left = true, .priority = 1},
                {.key = "title", .title = "title", .left = true, .wrap = true},
                {.key = "published", .title = "published", .left = true, .wrap = true, .priority = 2}},
               recipe_rows);
  auto name = std::make_shared<std::string>();
  Command show = verb.verb("show", "one recipe as JSON; a file of this form can be run");
  show.required("recipe", *name, "a name from headroom recipe list, or a JSON file");
  show.example("headroom recipe show lenet5-mnist > mine.json");
  show.runs([name] { print(recipe_text(*name)); });
  add_recipe_run(verb);
}

}  // namespace headroom::cli
