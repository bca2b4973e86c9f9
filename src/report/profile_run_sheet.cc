#include "report/profile_run_sheet.h"

#include "base/json.h"

namespace headroom {

Sheet run_sheet(const std::vector<RunFact>& facts) {
  Sheet sheet("run", {{.key = "group", .title = "of"},
                      {.key = "name", .title = "fact", .left = true},
                      {.key = "value", .title = "value", .left = true, .wrap = true},
                      {.key = "unit", .title = "unit", .left = true}});
  for (const RunFact& f : facts) {
    if (sheet.rows() > 0 && f.group != std::get<std::string>(sheet.at(sheet.rows() - 1, "group")))
      sheet.rule();
    sheet.row({f.group, f.name, f.value, f.unit.empty() ? Cell() : Cell(f.unit)});
  }
  return sheet;
}

Json to_json(const std::vector<RunFact>& facts) {
  Json list = Json::array();
  for (const RunFact& f : facts) {
    Json item = {{"group", f.group}, {"name", f.name}, {"value", f.value}};
    if (!f.unit.empty()) item["unit"] = f.unit;
    list.push_back(std::move(item));
  }
  return list;
}

std::vector<RunFact> facts_from_json(const Json& json, const std::string& origin) {
  if (!json.is_array()) reject("{} is not a list of facts about a run", origin);
  std::vector<RunFact> facts;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto field = [&](const char* key, bool required) -> std::string {
      const Json& item = json[i];
      if (item.is_object() && item.contains(key) && item[key].is_string()) return item[key];
      if (required || (item.is_object() && item.contains(key)))
        reject("{}: fact {} needs '{}', a text", origin, i, key);
      return {};
    };
    facts.push_back({field("group", true), field("name", true), field("value", true), field("unit", false)});
  }
  return facts;
}

}  // namespace headroom
