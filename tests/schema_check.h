#pragma once

// The part of JSON Schema draft 07 that docs/run-record.schema.json uses: type, const, enum, required,
// properties, items, minItems, minimum, maximum and dependencies.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"

namespace headroom::testing {

inline bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

// Collects every error with its path; none if the value fits.
inline void check_schema(const Json& schema, const Json& value, const std::string& path,
                         std::vector<std::string>& wrong) {
  if (schema.contains("type") && !has_type(value, schema["type"]))
    return wrong.push_back(fmt::format("{} is not of type {}", path, schema["type"].dump()));
  if (schema.contains("const") && value != schema["const"]) wrong.push_back(path + " has another value");
  if (schema.contains("enum")) {
    const Json& list = schema["enum"];
    if (std::find(list.begin(), list.end(), value) == list.end())
      wrong.push_back(fmt::format("{} is {}", path, value.dump()));
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    if (schema.contains("minimum") && number < schema["minimum"].get<double>())
      wrong.push_back(path + " is too small");
    if (schema.contains("maximum") && number > schema["maximum"].get<double>())
      wrong.push_back(path + " is too large");
  }
  if (value.is_array()) {
    if (schema.contains("minItems") && value.size() < schema["minItems"].get<std::size_t>())
      wrong.push_back(path + " has too few items");
    if (schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        check_schema(schema["items"], value[i], fmt::format("{}[{}]", path, i), wrong);
  }
  if (!value.is_object()) return;
  auto demand = [&](const Json& keys) {
    for (const Json& key : keys)
      if (!value.contains(key.get<std::string>()))
        wrong.push_back(fmt::format("{}.{} is missing", path, key.get<std::string>()));
  };
  if (schema.contains("required")) demand(schema["required"]);
  if (schema.contains("dependencies"))
    for (const auto& [key, keys] : schema["dependencies"].items())
      if (value.contains(key)) demand(keys);
  if (schema.contains("properties"))
    for (const auto& [key, inner] : schema["properties"].items())
      if (value.contains(key)) check_schema(inner, value[key], path + "." + key, wrong);
}

}  // namespace headroom::testing
